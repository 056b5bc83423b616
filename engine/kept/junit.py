"""Verdicts as JUnit XML, which CI systems show as test results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from engine.kept.judging import Verdict

_NO_XML: Final = re.compile("[^\\t\\n\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def to_xml(verdicts: Sequence[Verdict]) -> str:
    """A suite with a case per test. A difference is a failure, a test that cannot run an error."""
    failures = sum(bool(each.differences) for each in verdicts)
    errors = sum(bool(each.problem) for each in verdicts)
    numbers = {"tests": str(len(verdicts)), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    suites = Element("testsuites")
    seconds = f"{sum(each.seconds for each in verdicts):.3f}"
    suite = SubElement(suites, "testsuite", {"name": "pipelines", **numbers, "time": seconds})
    for each in verdicts:
        called = {"classname": str(each.test.folder), "name": _plain(each.test.name), "time": f"{each.seconds:.3f}"}
        case = SubElement(suite, "testcase", called)
        if each.problem:
            SubElement(case, "error", {"message": _plain(each.problem)})
        elif each.differences:
            message = " ".join(difference.sentence for difference in each.differences)
            failure = SubElement(case, "failure", {"message": _plain(message)})
            failure.text = _plain("\n\n".join("\n".join(difference.lines()) for difference in each.differences))
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _plain(text: str) -> str:
    """A text without the characters that XML 1.0 cannot have."""
    return _NO_XML.sub("?", text)
