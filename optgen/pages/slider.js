"use strict";
document.documentElement.classList.add("js");
for (const input of document.querySelectorAll(".rate input")) {
  const output = input.parentElement.querySelector("output");
  const rates = input.dataset.rates.split(" ");
  const shown = input.closest(".rates");
  input.addEventListener("input", () => {
    shown.dataset.rate = input.value;
    output.textContent = rates[input.value];
  });
}
