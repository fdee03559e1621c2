"""MathML: well-formed, of MathML Core alone, with scripts that have the parts they need, and a text alternative."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import optgen
from optgen.symbolic.mathml import formula, mathml
from optgen.symbolic.unicode import unicode

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
PARTS = {"mfrac": 2, "msup": 2, "msub": 2, "mroot": 2, "mover": 2, "msubsup": 3}
TOKENS = {"mi", "mn", "mo", "mtext"}
CORE = {*PARTS, *TOKENS, "math", "mrow", "msqrt", "mtable", "mtr", "mtd", "mspace"}
ATTRIBUTES = {"alttext", "display", "displaystyle", "columnspan", "style", "width", "accent", "stretchy", "form"}

SPEC = """
optimizer Sample
param beta1 = 0.9
flag heavy = false
state m = 0
update:
  m' = beta1*m + (1 - beta1)*g
  x  = {expression}
  w' = w - lr*m'*x   if heavy
  w' = w - lr*x      otherwise
"""


def checked(code: str) -> ElementTree.Element:
    """The tree of a formula, which browsers must set as it is meant."""
    tree = ElementTree.fromstring(code)
    for element in tree.iter():
        name = element.tag.removeprefix(NAMESPACE)
        assert name in CORE and set(element.attrib) <= ATTRIBUTES
        assert len(element) == PARTS.get(name, len(element))
        assert (name in TOKENS) == bool((element.text or "").strip("\n "))
        assert not (element.tail or "").strip()
        assert name != "mtext" or element.text == (element.text or "").strip("\n ")  # browsers drop such space
    return tree


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("w/m'", "<mfrac><msub><mi>w</mi><t-1></msub><msub><mi>m</mi><mi>t</mi></msub></mfrac>"),
        ("w^2", "<msubsup><mi>w</mi><t-1><mn>2</mn></msubsup>"),
        ("beta1^t", "<msubsup><mi>β</mi><mn>1</mn><mi>t</mi></msubsup>"),
        ("sqrt(w)", "<msqrt><msub><mi>w</mi><t-1></msub></msqrt>"),
        ("sqrt(w)^2", "<msup><mrow><mrow>(<msqrt><msub><mi>w</mi><t-1></msub></msqrt>)</mrow></mrow><mn>2</mn></msup>"),
        ("abs(w)", "<mrow>|<msub><mi>w</mi><t-1></msub>|</mrow>"),
        ("w*2", "<msub><mi>w</mi><t-1></msub>·<mn>2</mn>"),
        ("lr*w", '<mi>lr</mi><mspace width="0.17em"/><msub><mi>w</mi><t-1></msub>'),
        ("2e-3", "<mn>2</mn>\u00d7<msup><mn>10</mn><mrow>−<mn>3</mn></mrow></msup>"),
    ],
)
def test_formulas(expression: str, code: str) -> None:
    optimizer = optgen.parse(SPEC.format(expression=expression))
    value = next(e.value for e in optimizer.update if e.target.id == "x")
    found = formula(value, optimizer)
    checked(found)
    short = re.sub(r"<mo[^>]*>([^<]*)</mo>", r"\1", found).replace("<mrow><mi>t</mi>−<mn>1</mn></mrow>", "<t-1>")
    assert re.sub(r"^<math[^>]*>|</math>$", "", short) == code


def test_cases_and_text_that_is_escaped() -> None:
    optimizer = optgen.parse(SPEC.format(expression="where(w < 0 and m' > 1, 1, 2)"))
    code = mathml(optimizer)
    tree = checked(code)
    assert tree.attrib["alttext"] == unicode(optimizer)
    assert code.count("{</mo><mtable") == 2 and "&lt;" in code
    words = [x.text for x in tree.iter(f"{NAMESPACE}mtext")]
    assert words == ["if\u00a0", "\u00a0and\u00a0", "otherwise", "if\u00a0", "heavy", "otherwise"]
    assert "otherwise" not in mathml(optimizer, {"heavy": True}).rpartition("<mtr>")[2]
