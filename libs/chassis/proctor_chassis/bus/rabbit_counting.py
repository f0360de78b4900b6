"""FastStream's own counting, with labels that stay few however many runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faststream.prometheus import ConsumeAttrs
from faststream.prometheus.middleware import PrometheusMiddleware
from faststream.rabbit.prometheus.provider import RabbitMetricsSettingsProvider
from faststream.rabbit.response import RabbitPublishCommand
from typing_extensions import override

from proctor_contracts.topology import LIVE

if TYPE_CHECKING:
    from aio_pika import IncomingMessage
    from faststream.message.message import StreamMessage
    from prometheus_client import CollectorRegistry

__all__ = ["counting_middleware"]


def counting_middleware(
    registry: CollectorRegistry,
) -> PrometheusMiddleware[IncomingMessage, RabbitPublishCommand]:
    """Count received and published messages into this registry, one series for each exchange and key."""
    provider = _Labels()
    return PrometheusMiddleware(settings_provider_factory=lambda _message: provider, registry=registry)


class _Labels(RabbitMetricsSettingsProvider):
    """Labels by exchange and key; live messages carry their run in the key, so only the exchange is told."""

    @override
    def get_consume_attrs_from_message(self, msg: StreamMessage[IncomingMessage]) -> ConsumeAttrs:
        attrs = super().get_consume_attrs_from_message(msg)
        if msg.raw_message.exchange == LIVE.name:
            attrs["destination_name"] = LIVE.name
        return attrs

    @override
    def get_publish_destination_name_from_cmd(self, cmd: RabbitPublishCommand) -> str:
        if cmd.exchange.name == LIVE.name:
            return LIVE.name
        return super().get_publish_destination_name_from_cmd(cmd)
