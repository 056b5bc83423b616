"""The options of the client that a pipeline may set, with their values: the others are the studio's, or do harm.

librdkafka takes any name and value into its process. Some end it: an empty group, a signal that its threads send, an
option that is a dictionary; others start brokers, write files, or replace what the studio has decided.
Source: librdkafka CONFIGURATION.md, as of 2.16. A range is its own, but no buffer is larger than a gigabyte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import PipelineError, shortened, unknown_name
from engine.reading.servers.secrets import hidden

_LONGEST: Final = 100_000
# Without control characters, but certificates have lines.
_TEXT: Final = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]*")

# Numbers have a range, words stand in a list; the values of the others are texts.
_TABLE: Final = """
    allow.auto.create.topics                            true,false
    api.version.fallback.ms                             0..604800000
    api.version.request                                 true,false
    api.version.request.timeout.ms                      1..300000
    broker.address.family                               any,v4,v6
    broker.address.ttl                                  0..86400000
    broker.version.fallback
    check.crcs                                          true,false
    client.dns.lookup                                   use_all_dns_ips,resolve_canonical_bootstrap_servers_only
    client.id
    client.rack
    connections.max.idle.ms                             0..2147483647
    coordinator.query.interval.ms                       1..3600000
    enable.metrics.push                                 true,false
    enable.sasl.oauthbearer.unsecure.jwt                true,false
    enable.ssl.certificate.verification                 true,false
    fetch.error.backoff.ms                              0..300000
    fetch.max.bytes                                     0..1000000000
    fetch.message.max.bytes                             1..1000000000
    fetch.min.bytes                                     0..1000000000
    fetch.queue.backoff.ms                              0..300000
    fetch.wait.max.ms                                   0..300000
    group.id
    heartbeat.interval.ms                               1..3600000
    https.ca.location
    https.ca.pem
    isolation.level                                     read_uncommitted,read_committed
    max.in.flight                                       1..1000000
    max.in.flight.requests.per.connection               1..1000000
    max.partition.fetch.bytes                           1..1000000000
    max.poll.interval.ms                                1..86400000
    message.max.bytes                                   1000..1000000000
    metadata.max.age.ms                                 1..86400000
    metadata.recovery.rebootstrap.trigger.ms            0..2147483647
    metadata.recovery.strategy                          none,rebootstrap
    queued.max.messages.kbytes                          1..1000000
    queued.min.messages                                 1..10000000
    receive.message.max.bytes                           1000..1000000512
    reconnect.backoff.max.ms                            0..3600000
    reconnect.backoff.ms                                0..3600000
    retry.backoff.max.ms                                1..300000
    retry.backoff.ms                                    1..300000
    sasl.kerberos.keytab
    sasl.kerberos.min.time.before.relogin               0..86400000
    sasl.kerberos.principal
    sasl.kerberos.service.name
    sasl.mechanism                                      GSSAPI,PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
    sasl.mechanisms                                     GSSAPI,PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
    sasl.oauthbearer.assertion.algorithm                RS256,ES256
    sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds        1..2147483647
    sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include        true,false
    sasl.oauthbearer.assertion.claim.nbf.seconds        0..2147483647
    sasl.oauthbearer.assertion.claim.sub
    sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret
    sasl.oauthbearer.config
    sasl.oauthbearer.extensions
    sasl.oauthbearer.grant.type                         client_credentials,urn:ietf:params:oauth:grant-type:jwt-bearer
    sasl.oauthbearer.metadata.authentication.type       none,azure_imds,aws_iam
    sasl.oauthbearer.method                             default,oidc
    sasl.oauthbearer.scope
    sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url
    sasl.password
    sasl.username
    security.protocol                                   plaintext,ssl,sasl_plaintext,sasl_ssl
    session.timeout.ms                                  1..3600000
    socket.connection.setup.timeout.ms                  1000..2147483647
    socket.keepalive.enable                             true,false
    socket.max.fails                                    0..1000000
    socket.nagle.disable                                true,false
    socket.receive.buffer.bytes                         0..100000000
    socket.send.buffer.bytes                            0..100000000
    socket.timeout.ms                                   10..300000
    ssl.ca.location
    ssl.ca.pem
    ssl.certificate.location
    ssl.certificate.pem
    ssl.cipher.suites
    ssl.crl.location
    ssl.curves.list
    ssl.endpoint.identification.algorithm               none,https
    ssl.key.location
    ssl.key.password
    ssl.key.pem
    ssl.keystore.location
    ssl.keystore.password
    ssl.sigalgs.list
    topic.metadata.propagation.max.ms                   0..3600000
    topic.metadata.refresh.fast.interval.ms             1..60000
    topic.metadata.refresh.interval.ms                  -1..3600000
    topic.metadata.refresh.sparse                       true,false
"""


@dataclass(frozen=True)
class Option:
    """The values of an option: the numbers from least to most, one of the words, or any text that is not empty."""

    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()

    def refusal(self, value: str) -> str | None:
        """Why a value cannot be passed on: the end of a sentence that begins with the option."""
        if not value:
            return "has no value. Give one, or leave the option out"
        if len(value) > _LONGEST or not _TEXT.fullmatch(value):
            return f"has more than {_LONGEST:,} characters, or some that no text has. Correct it"
        if self.words and value.lower() not in (word.lower() for word in self.words):
            return f"is one of {', '.join(self.words)}, not {shortened(value, 60)!r}. Choose one of them"
        if self.least is not None and self.most is not None:
            is_number = re.fullmatch(r"-?[0-9]{1,12}", value) is not None
            if not (is_number and self.least <= int(value) <= self.most):
                return f"is a number from {self.least} to {self.most}, not {shortened(value, 60)!r}. Correct it"
        return None


def _option(values: str) -> Option:
    least, is_range, most = values.partition("..")
    if is_range:
        return Option(int(least), int(most))
    return Option(words=tuple(values.split(",")) if values else ())


OPTIONS: Final[Mapping[str, Option]] = {
    name: _option(values.strip()) for name, _, values in (line.partition(" ") for line in _TABLE.split("\n    ")[1:])
}
"""The options under librdkafka's names."""


def check_settings(settings: Mapping[str, str], node: str, secrets: Sequence[str] = ()) -> None:
    """Raise PipelineError for an option or a value that may not be passed to librdkafka."""
    for name, value in settings.items():
        if name not in OPTIONS:
            message = f"properties: {unknown_name('option', shortened(name, 60), OPTIONS)}."
            raise PipelineError(message, node, "properties")
        if (refusal := OPTIONS[name].refusal(value)) is not None:
            message = f"properties: {name} {hidden(refusal, secrets)}."
            raise PipelineError(message, node, "properties")
