"""What every refusal of a connector has in common."""

from collections.abc import Callable, Sequence

import pytest

from connectors.errors import ConnectorError


def assert_refused(error: type[ConnectorError], says: Sequence[str], call: Callable[[], object]) -> None:
    """The call raises just this error: one line with these words, and a remedy."""
    with pytest.raises(ConnectorError) as caught:
        call()
    assert type(caught.value) is error
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.remedy
    for words in says:
        assert words in line
