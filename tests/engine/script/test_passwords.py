"""Secrets leave a kept script, and nothing else does."""

from __future__ import annotations

import pytest

from engine.script.passwords import without_passwords


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("'url' = 'http://u:hunter2@h:8081/x'", "'url' = 'http://u:${env:STUDIO_PASSWORD}@h:8081/x'"),
        ("'jaas' = 'Login password=\"hunter2\";'", "'jaas' = 'Login password=\"${env:STUDIO_PASSWORD}\";'"),
        ("CREATE TABLE t WITH ('password' = 'p')", "CREATE TABLE t WITH ('password' = '${env:T_PASSWORD}')"),
    ],
)
def test_a_secret_is_replaced_by_the_name_of_a_variable(text: str, kept: str) -> None:
    assert without_passwords(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "'url' = 'http://schema-registry:8081'",
        "'url' = 'jdbc:mysql://h:3306/db'",
        "SELECT a.token FROM a JOIN b ON a.token = b.token WHERE secret=x",
        "'password' = '${env:P}', 'url' = 'http://u:${env:P}@h'",
    ],
)
def test_an_address_and_a_column_stay_as_they_are(text: str) -> None:
    assert without_passwords(text) == text
