"""Checks of a number of devices."""


def check_present(devices, present, what):
    """Raises ValueError if more devices are asked for than there are."""
    if devices is not None and devices > present:
        raise ValueError(
            f"`devices` must be at most {present}, the number of {what} here. "
            f"Received: {devices}. Give fewer, or leave it out for all."
        )


def refuse_devices(devices, other):
    """Raises ValueError if the strategy of one device is to have another number."""
    if devices not in (None, 1):
        raise ValueError(
            f"Strategy one has one device. Received: devices={devices}. Use {other}."
        )
