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
    failures = sum(bool(verdict.differences) for verdict in verdicts)
    errors = sum(bool(verdict.problem) for verdict in verdicts)
    numbers = {"tests": str(len(verdicts)), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    suites = Element("testsuites")
    seconds = f"{sum(verdict.seconds for verdict in verdicts):.3f}"
    suite = SubElement(suites, "testsuite", {"name": "pipelines", **numbers, "time": seconds})
    for verdict in verdicts:
        called = {
            "classname": str(verdict.test.folder),
            "name": _plain(verdict.test.name),
            "time": f"{verdict.seconds:.3f}",
        }
        case = SubElement(suite, "testcase", called)
        if verdict.problem:
            SubElement(case, "error", {"message": _plain(verdict.problem)})
        elif verdict.differences:
            message = " ".join(difference.sentence for difference in verdict.differences)
            failure = SubElement(case, "failure", {"message": _plain(message)})
            failure.text = _plain("\n\n".join("\n".join(difference.lines()) for difference in verdict.differences))
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _plain(text: str) -> str:
    """A text without the characters that XML 1.0 cannot have."""
    return _NO_XML.sub("?", text)
