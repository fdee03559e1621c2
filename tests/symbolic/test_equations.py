"""LaTeX and Unicode of equations: names, times, parentheses, case groups, and that they follow the tree as written."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import optgen
from optgen import specfiles
from optgen.diagnostics import Span
from optgen.expressions import Name
from optgen.symbolic.latex import latex
from optgen.symbolic.mathml import mathml
from optgen.symbolic.symbols import GREEK
from optgen.symbolic.unicode import Unicode, unicode
from tests.symbolic.test_mathml import checked

SPEC = """
optimizer Sample "For the tests"

param lr    = 0.1
param beta1 = 0.9 in [0, 1)
param gamma = 0.5
flag  amsgrad = false

state m     = 0
state v_max = 0 if amsgrad

update:
  m'     = beta1*m + (1 - beta1)*g
  v_max' = max(v_max, m')        if amsgrad
  m_hat  = m'/(1 - beta1^t)
  x      = {expression}
  w'     = w - lr*v_max'*x       if amsgrad
  w'     = w - lr*m_hat*x        otherwise
"""


COMMANDS = {f"\\{letter}" for letter in GREEK} | {
    *(r"\begin", r"\end", r"\frac", r"\left", r"\right", r"\sqrt", r"\text", r"\mathrm", r"\operatorname", r"\quad"),
    *(r"\hat", r"\bar", r"\tilde", r"\mathcal", r"\lvert", r"\rvert", r"\lVert", r"\rVert", r"\lfloor", r"\rfloor"),
    *(r"\cdot", r"\odot", r"\times", r"\top", r"\pm", r"\sim", r"\gets", r"\colon", r"\ldots", r"\infty"),
    *(r"\le", r"\ge", r"\ne", r"\max", r"\min", r"\exp", r"\log", r"\tanh", r"\sin", r"\cos", r"\tan", r"\arctan"),
}
"""What amsmath, KaTeX and MathJax all have."""


def rendered(expression: str) -> tuple[str, str]:
    """The right-hand sides of `x` in Unicode and LaTeX."""
    optimizer = optgen.parse(SPEC.format(expression=expression))
    text = next(line for line in unicode(optimizer).splitlines() if line.startswith("xₜ"))
    code = next(line for line in latex(optimizer).splitlines() if line.startswith("  x_t &"))
    return text.partition("= ")[2], code.removesuffix(" \\\\").partition("&= ")[2]


@pytest.mark.parametrize(
    ("expression", "text", "code"),
    [
        ("w + m'", "wₜ₋₁ + mₜ", "w_{t-1} + m_t"),
        ("w - (m' - m)", "wₜ₋₁ − (mₜ − mₜ₋₁)", "w_{t-1} - (m_t - m_{t-1})"),
        ("w - (m' + m)", "wₜ₋₁ − (mₜ + mₜ₋₁)", "w_{t-1} - (m_t + m_{t-1})"),
        ("w + (m' + m)", "wₜ₋₁ + mₜ + mₜ₋₁", "w_{t-1} + m_t + m_{t-1}"),
        ("w*(m' + m)", "wₜ₋₁·(mₜ + mₜ₋₁)", r"w_{t-1} \, (m_t + m_{t-1})"),
        ("w + (-m)", "wₜ₋₁ + (−mₜ₋₁)", "w_{t-1} + (-m_{t-1})"),
        ("-(w + m)", "−(wₜ₋₁ + mₜ₋₁)", "-(w_{t-1} + m_{t-1})"),
        ("w*2*lr", "wₜ₋₁·2·lr", r"w_{t-1} \cdot 2 \, \mathrm{lr}"),
        ("w/m'/lr", "wₜ₋₁/mₜ/lr", r"\frac{\frac{w_{t-1}}{m_t}}{\mathrm{lr}}"),
        ("w/(m'/lr)", "wₜ₋₁/(mₜ/lr)", r"\frac{w_{t-1}}{\frac{m_t}{\mathrm{lr}}}"),
        ("w/(m'*lr)", "wₜ₋₁/(mₜ·lr)", r"\frac{w_{t-1}}{m_t \, \mathrm{lr}}"),
        ("(w/m')^2", "(wₜ₋₁/mₜ)²", r"\left(\frac{w_{t-1}}{m_t}\right)^2"),
        ("(w + m)^gamma", "(wₜ₋₁ + mₜ₋₁)^γ", r"(w_{t-1} + m_{t-1})^{\gamma}"),
        ("beta1^(t + 1)", "β₁^(t + 1)", r"\beta_1^{t + 1}"),
        ("sqrt(g)^2", "(√gₜ)²", r"\left(\sqrt{g_t}\right)^2"),
        ("sqrt(g + 1e-8)", "√(gₜ + 1e-8)", r"\sqrt{g_t + 10^{-8}}"),
        ("cbrt(g)*2.5e-3", "∛gₜ·2.5e-3", r"\sqrt[3]{g_t} \cdot 2.5 \times 10^{-3}"),
        ("abs(g)*sign(w)", "|gₜ|·sign(wₜ₋₁)", r"\lvert g_t \rvert \, \operatorname{sign}(w_{t-1})"),
        ("norm(g)", "‖gₜ‖", r"\lVert g_t \rVert"),
        ("max(g) - min(g, w)", "max(gₜ) − min(gₜ, wₜ₋₁)", r"\max(g_t) - \min(g_t, w_{t-1})"),
        ("clip(g, 1)", "clip(gₜ, ±1)", r"\operatorname{clip}(g_t, \pm 1)"),
        ("clip(g, -1, 2)", "clip(gₜ, −1, 2)", r"\operatorname{clip}(g_t, -1, 2)"),
        ("log1p(g)*pow(g, 3)", "log(1 + gₜ)·gₜ³", r"\log(1 + g_t) \, g_t^3"),
        ("2*expm1(g)", "2·(exp(gₜ) − 1)", r"2 \, (\exp(g_t) - 1)"),
        ("floor(g/2)", "⌊gₜ/2⌋", r"\left\lfloor \frac{g_t}{2}\right\rfloor"),
        (
            "1 - where(g > 0 and not w == 1, 1, m)",
            "1 − ({1 if gₜ > 0 and not (wₜ₋₁ = 1); mₜ₋₁ otherwise})",
            r"1 - \left(\begin{cases} 1 & \text{if } g_t > 0 \text{ and not } (w_{t-1} = 1) \\ m_{t-1} & "
            r"\text{otherwise} \end{cases}\right)",
        ),
    ],
)
def test_expressions(expression: str, text: str, code: str) -> None:
    assert rendered(expression) == (text, code)


def test_a_draw_is_distributed_as() -> None:
    optimizer = optgen.parse(SPEC.format(expression="normal()"))
    assert "xₜ     ~ N(0, 1)" in unicode(optimizer)
    assert r"x_t &\sim \mathcal{N}(0, 1)" in latex(optimizer)


def test_case_groups_guards_and_the_gradient() -> None:
    optimizer = optgen.parse(SPEC.format(expression="where(g > 0, 1, where(g < 0, 2, 3))"))
    assert unicode(optimizer).splitlines() == [
        "mₜ     = β₁·mₜ₋₁ + (1 − β₁)·gₜ",
        "v_maxₜ = max(v_maxₜ₋₁, mₜ)   if amsgrad",
        "m̂ₜ     = mₜ/(1 − β₁ᵗ)",
        "         ⎧ 1   if gₜ > 0",
        "xₜ     = ⎨ 2   if gₜ < 0",
        "         ⎩ 3   otherwise",
        "         ⎧ wₜ₋₁ − lr·v_maxₜ·xₜ   if amsgrad",
        "wₜ     = ⎨",
        "         ⎩ wₜ₋₁ − lr·m̂ₜ·xₜ       otherwise",
    ]
    code = latex(optimizer)
    assert r"v_{\max,t} &= \max(v_{\max,t-1}, m_t) \quad \text{if amsgrad}" in code
    assert r"\hat{m}_t &= \frac{m_t}{1 - \beta_1^t}" in code
    assert r"w_t &= \begin{cases} w_{t-1} - \mathrm{lr} \, v_{\max,t} \, x_t & \text{if amsgrad} \\" in code


def test_a_variant_has_no_guards() -> None:
    optimizer = optgen.parse(SPEC.format(expression="1"))
    assert "wₜ = wₜ₋₁ − lr·m̂ₜ·xₜ" in unicode(optimizer, {"amsgrad": False})
    assert "v_max" not in unicode(optimizer, {"amsgrad": False})
    assert "cases" not in latex(optimizer, {"amsgrad": True})
    with pytest.raises(ValueError, match="Sample: no flag 'nesterov'; its flags are: amsgrad"):
        latex(optimizer, {"nesterov": True})


TWO_FLAGS = """
optimizer Two
flag heavy = false
flag ahead = false
flag decays = wd > 0
state m = 0 if heavy
update:
  m' = 0.9*m + g        if heavy
  d  = g + m'           if heavy and ahead
  d  = m'               if heavy
  d  = g                otherwise
  w' = w - lr*(d+wd*w)  if decays and not ahead
  w' = w - lr*d         otherwise
"""


def test_known_flags_leave_out_cases_and_sides_of_conditions() -> None:
    optimizer = optgen.parse(TWO_FLAGS)
    assert unicode(optimizer, {"heavy": True, "decays": True}).splitlines() == [
        "mₜ = 0.9·mₜ₋₁ + gₜ",
        "     ⎧ gₜ + mₜ   if ahead",
        "dₜ = ⎨",
        "     ⎩ mₜ        otherwise",
        "     ⎧ wₜ₋₁ − lr·(dₜ + wd·wₜ₋₁)   if not ahead",
        "wₜ = ⎨",
        "     ⎩ wₜ₋₁ − lr·dₜ               otherwise",
    ]
    assert unicode(optimizer, {"heavy": False, "ahead": True}) == "dₜ = gₜ\nwₜ = wₜ₋₁ − lr·dₜ"
    assert unicode(optimizer, {"ahead": False}).endswith("where decays: wd > 0")


def test_a_factor_and_a_bound_of_gradients_are_shown_where_they_are_not_at_their_defaults() -> None:
    optimizer = optgen.parse("""
optimizer Bounded
update:
  d  = clip(rescale_grad*grad + wd*w, clip_gradient)
  n  = abs(rescale_grad)*norm(grad)
  w' = w - lr*(d/n + g)
""")

    def first(**values: float | None) -> list[str]:
        return unicode(optimizer, None, values).splitlines()[:-1]

    assert unicode(optimizer).splitlines()[:2] == ["dₜ = gₜ + wd·wₜ₋₁", "nₜ = ‖gₜ‖"]
    assert first() == [
        "gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)",
        "dₜ = clip(rescale_grad·gradₜ + wd·wₜ₋₁, ±clip_gradient)",
        "nₜ = |rescale_grad|·‖gradₜ‖",
    ]
    assert first(rescale_grad=1, clip_gradient=2.0) == [
        "gₜ = clip(gradₜ, ±clip_gradient)",
        "dₜ = clip(gradₜ + wd·wₜ₋₁, ±clip_gradient)",
        "nₜ = ‖gradₜ‖",
    ]
    assert first(rescale_grad=0.5, clip_gradient=None)[0] == "gₜ = rescale_grad·gradₜ"
    declared = optgen.parse("optimizer D\nparam rescale_grad = 0.5\nupdate:\n  w' = w - lr*g\n")
    assert unicode(declared).splitlines()[0] == "gₜ = rescale_grad·gradₜ"


def test_names_of_a_part_are_without_its_name_where_they_are_clear() -> None:
    optimizer = optgen.parse("""
optimizer Parts
param beta1        = 0.9
param sgd_nu       = 0.9
param adam_beta2   = 0.99
param adam_beta1   = 0.9
param adam_lr      = 0.1
param shampoo_beta = 0.9
param eta_plus     = 1.2
state adam_m = 0
state adam_u = 0
state u      = 0
update:
  adam_m' = adam_beta1*adam_m + beta1*g
  adam_u' = adam_beta2*adam_u + shampoo_beta*u
  u'      = adam_u' + sgd_nu
  w'      = w - eta_plus*adam_lr*adam_m'*u'
""")
    code, text = latex(optimizer), unicode(optimizer)
    assert r"m_t &= \beta_{1,\mathrm{adam}} \, m_{t-1} + \beta_1 \, g_t" in code
    assert r"u_{\mathrm{adam},t} &= \beta_2 \, u_{\mathrm{adam},t-1} + \beta_{\mathrm{shampoo}} \, u_{t-1}" in code
    assert r"u_t &= u_{\mathrm{adam},t} + \nu_{\mathrm{sgd}}" in code
    assert r"\eta_{\mathrm{plus}} \, \mathrm{adam\_lr} \, m_t \, u_t" in code
    assert "mₜ      = β₁_adam·mₜ₋₁ + β₁·gₜ" in text


def test_products_of_matrices_have_no_sign_so_that_those_of_elements_have_one() -> None:
    optimizer = optgen.parse("""
optimizer Products
state L: rows x rows = 0
update:
  L' = L + g@g^T
  u  = (g*w)@(g^T@w)*w + norm(g)*g - (-g*w)
  w' = w - lr*L'@(g*g)*lr*u^2
""")
    code, text = latex(optimizer), unicode(optimizer)
    assert r"L_t &= L_{t-1} + g_t g_t^\top" in code and "Lₜ = Lₜ₋₁ + gₜ@gₜᵀ" in text
    assert r"(g_t \odot w_{t-1}) (g_t^\top w_{t-1}) \odot w_{t-1} + \lVert g_t \rVert \, g_t" in code
    assert r"- (-g_t \odot w_{t-1})" in code
    assert r"\mathrm{lr} \, L_t (g_t \odot g_t) \, \mathrm{lr} \odot u_t^{\odot 2}" in code
    assert "<mo>⊙</mo>" in mathml(optimizer)
    assert r"\odot" not in latex(optgen.parse("optimizer X\nupdate:\n  w' = w - lr*g*g\n"))


def test_a_name_that_says_its_step_gets_no_second_index() -> None:
    text = """
optimizer Sample
state s = 0
update:
  lr_t = lr*t
  s_t  = lr_t*g
  s'   = s + s_t
  w'   = w - s'
"""
    lines = unicode(optgen.parse(text)).splitlines()
    assert lines == ["lrₜ  = lr·t", "sₜₜ = lrₜ·gₜ", "sₜ  = sₜ₋₁ + sₜₜ", "wₜ  = wₜ₋₁ − sₜ"] or lines == [
        "lrₜ = lr·t",
        "sₜₜ = lrₜ·gₜ",
        "sₜ  = sₜ₋₁ + sₜₜ",
        "wₜ  = wₜ₋₁ − sₜ",
    ]


def test_weights_to_evaluate_with() -> None:
    text = """
optimizer Sample
state z = w
update:
  z' = z - lr*g
  w' = 0.5*w + 0.5*z'
eval:
  w' = z
"""
    optimizer = optgen.parse(text)
    assert unicode(optimizer).splitlines()[-1] == "wₜ(eval) = zₜ"
    assert latex(optimizer).splitlines()[-2] == r"  w_t^{\mathrm{eval}} &= z_t"


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.stress)], ids=["some", "every"])
@pytest.mark.parametrize("name", specfiles.all_available())
def test_variants_of_every_spec(name: str, every: bool) -> None:
    """Those in which some flag has a value for the first time, or every one."""
    optimizer = optgen.parse(specfiles.spec_path(name).read_text("utf-8"))
    renderer = Unicode(optimizer)
    spelled = [renderer.symbol(*renderer.names.of(Name(id, False, Span(0, 0, 0)))) for id in renderer.names.symbols]
    assert len(set(spelled)) == len(spelled)
    seen = set[tuple[str, Any]]()
    for flags in (None, *optimizer.variants()):
        if not every and flags and flags.items() <= seen:
            continue
        seen |= (flags or {}).items()
        code = latex(optimizer, flags)
        assert code.count("{") == code.count("}")
        assert re.findall(r"\\(?:begin|left)\b", code).__len__() == re.findall(r"\\(?:end|right)\b", code).__len__()
        if every or flags is None:
            checked(mathml(optimizer, flags))
        assert set(re.findall(r"\\[a-zA-Z]+", code)) <= COMMANDS
        assert "w_t &=" in code and "wₜ" in unicode(optimizer, flags)


def test_sympy_is_not_imported_for_it() -> None:
    code = "import sys, optgen.symbolic; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ALIKE = """
optimizer Alike
param m_t     = 0.9
param eps     = 1
param epsilon = 2
param beta1   = 0.1
param beta_1  = 0.2
flag  x1      = beta1 > beta_1
flag  wide    = rank >= 2 and not x1
state m = 0
update:
  x_1 = g
  m'  = m_t*m + beta1*x_1   if x1
  m'  = m + beta_1*x_1      otherwise
  w'  = w - eps*m'          if wide
  w'  = w - epsilon*m'      otherwise
"""


def test_names_that_would_look_the_same_are_spelled_out() -> None:
    optimizer = optgen.parse(ALIKE)
    text, code = unicode(optimizer), latex(optimizer)
    assert "m_t·mₜ₋₁ + beta1·x₁ₜ" in text and "mₜ₋₁ + beta_1·x₁ₜ" in text
    assert "wₜ₋₁ − eps·mₜ" in text and "wₜ₋₁ − ε·mₜ" in text
    assert r"\mathrm{m\_t} \, m_{t-1} + \mathrm{beta1} \, x_{1,t}" in code
    assert r"w_{t-1} - \mathrm{eps} \, m_t" in code and r"w_{t-1} - \epsilon \, m_t" in code
    assert "β₁·x₁ₜ" in unicode(optgen.parse(ALIKE.replace("beta_1", "gamma")))


def test_the_conditions_of_flags_are_shown() -> None:
    optimizer = optgen.parse(ALIKE)
    assert unicode(optimizer).splitlines()[-2:] == ["where x1: beta1 > beta_1", "where wide: rank ≥ 2 and not x1"]
    rows = latex(optimizer).splitlines()
    assert rows[-2] == r"  \text{where wide} &\colon \mathrm{rank} \ge 2 \text{ and not x1}"
    assert "where" not in unicode(optimizer, {"x1": True, "wide": False})
