"""Ends a command at Ctrl-C, whatever it is doing."""

import contextlib
import os
import signal
import sys
import threading
import time

from zoo.files import remove_unfinished

EXIT_CODE = 130  # of a program that ends because of Ctrl-C, as in a shell
SECONDS = 1.0  # for the command to end by itself


@contextlib.contextmanager
def ended_by_interrupt():
    """Ends the process with exit code 130 if Ctrl-C is pressed in the block.

    Python raises KeyboardInterrupt between two of its own instructions. But one call of
    TensorFlow may take minutes, other code may catch the exception, and Python waits
    for threads at its end. So another thread ends the process if the block has not
    ended after a second. Temporary files are removed.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield  # it is ignored, such as under nohup, or another program handles it
        return
    pressed = threading.Event()

    def interrupt(number, frame):
        pressed.set()
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)  # written to even while TensorFlow runs
    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        if pressed.is_set():
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
            _end()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(-1)
        os.close(writer)  # which also ends the thread


def _watch(reader):
    """Waits for the number of a signal, and then ends the process."""
    signals = iter(lambda: os.read(reader, 1), b"")
    if bytes([signal.SIGINT]) in signals:
        time.sleep(SECONDS)
        _end()
    os.close(reader)


def _end():
    remove_unfinished()
    os._exit(EXIT_CODE)  # `sys.exit` waits for threads
