"""Runs cells of Python for svc: one line of JSON in, one line of JSON out, with state kept in between.

Requests come on standard input; replies leave on file descriptor 3, so that nothing that a cell or its child processes
print can be taken for a reply. Standard output and error belong to the cell. When it is done, a mark is written to both,
which tells the reader where the cell's output ends.
"""

import sys

# A cell may leave a random.py in the working directory, which the next interpreter must not take for Python's own.
sys.path[:] = [path for path in sys.path if path]

import ast
import base64
import builtins
import importlib
import importlib.abc
import io
import json
import linecache
import os
import signal
import time
import traceback
import types

IMAGES_MAX = 32
FRAMES_MAX = 256
PICTURE_CHARS_MAX = 48 * 1024 * 1024
TEXT_CHARS_MAX = 64 * 1024
DPI = 150


class NoInput(io.TextIOBase):
    """Standard input of a cell."""

    def _refuse(self, *_args):
        raise RuntimeError("there is no standard input: nobody can answer while code runs")

    read = readline = readlines = __next__ = _refuse


class Pictures:
    """What a cell draws, as PNG in base64: bounded, and no picture twice."""

    def __init__(self):
        self.images = []
        self.frames = []
        self.chars = 0
        self.is_animation = False

    def add(self, png):
        text = base64.b64encode(png).decode("ascii")
        kept, most = (self.frames, FRAMES_MAX) if self.is_animation else (self.images, IMAGES_MAX)
        is_repeated = not self.is_animation and text in kept
        if is_repeated or len(kept) >= most or self.chars + len(text) > PICTURE_CHARS_MAX:
            return
        self.chars += len(text)
        kept.append(text)


pictures = Pictures()


def add_figure(figure):
    savefig = getattr(type(figure), "_svc_savefig", None)
    if savefig is None:
        return
    png = io.BytesIO()
    box = {} if pictures.is_animation else {"bbox_inches": "tight"}  # frames must be of one size
    savefig(figure, png, format="png", dpi=DPI, **box)
    pictures.add(png.getvalue())


def add_open_figures():
    """Open figures are drawn and closed, as if somebody had looked at them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            add_figure(pyplot.figure(number))
    finally:
        close_figures()


def close_figures(figure="all"):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def watch_figures(module):
    module.Figure._svc_savefig = module.Figure.savefig

    def savefig(self, *args, **kwargs):
        result = module.Figure._svc_savefig(self, *args, **kwargs)
        add_figure(self)
        return result

    module.Figure.savefig = savefig


def watch_pyplot(module):
    module.show = lambda *_args, **_kwargs: add_open_figures()


def watch_animations(module):
    original = module.Animation.save

    def save(self, *args, **kwargs):
        pictures.is_animation = True
        try:
            return original(self, *args, **kwargs)
        finally:
            pictures.is_animation = False
            close_figures(self._fig)  # its last state is a frame already

    module.Animation.save = save


def watch_images(module):
    module.Image.show = lambda self, *_args, **_kwargs: add_image(self)


def add_image(image):
    png = io.BytesIO()
    is_plain = image.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
    (image if is_plain else image.convert("RGB")).save(png, format="PNG")
    pictures.add(png.getvalue())


WATCHED = {
    "matplotlib.figure": watch_figures,
    "matplotlib.pyplot": watch_pyplot,
    "matplotlib.animation": watch_animations,
    "PIL.Image": watch_images,
}


class Watcher(importlib.abc.MetaPathFinder):
    """Changes modules that draw, as soon as they have been imported. Without them nothing happens."""

    def find_spec(self, name, path=None, target=None):
        watch = WATCHED.get(name)
        if watch is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._wrap(spec.loader, watch)
                return spec
        return None

    def _wrap(self, loader, watch):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            watch(module)

        loader.exec_module = exec_module


class Cells:
    """The state that cells share, and how one is run."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.is_running = False
        self.reset()

    def reset(self):
        # Under this name functions of a cell can be handed to worker processes.
        module = types.ModuleType("__main__")
        module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = module
        self.names = module.__dict__
        os.chdir(self.folder)

    def interrupt(self, *_args):
        if self.is_running:
            raise KeyboardInterrupt

    def run(self, code):
        """Returns the traceback or None, and the value of a last expression."""
        self.count += 1
        name = f"<cell {self.count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        try:
            return self._attempt(code, name)
        except KeyboardInterrupt:  # while an error was being put into words
            return "KeyboardInterrupt", None
        finally:
            self.is_running = False

    def _attempt(self, code, name):
        try:
            return None, self._evaluate(code, name)
        except KeyboardInterrupt:
            return "KeyboardInterrupt", None
        except SystemExit as end:
            return f"SystemExit: {end.code}", None
        except BaseException as error:  # whatever a cell raises is its result
            return self._explain(error, name), None

    def _evaluate(self, code, name):
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        program = compile(tree, name, "exec")
        expression = None if last is None else compile(ast.Expression(last.value), name, "eval")
        self.is_running = True
        exec(program, self.names)
        if expression is None:
            return None
        value = eval(expression, self.names)
        if value is None:
            return None
        self.names["_"] = value
        return describe(value)

    def _explain(self, error, name):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        lines = traceback.format_exception(type(error), error, trace)
        return shorten("".join(lines))


def describe(value):
    module = sys.modules.get("PIL.Image")
    if module is not None and isinstance(value, module.Image):
        add_image(value)
        return f"<PIL Image size={value.size[0]}x{value.size[1]}>", type(value).__name__
    return shorten(repr(value)), type(value).__name__


def shorten(text):
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "…"


class Channels:
    """File descriptors: requests, replies, and the output of cells."""

    def __init__(self):
        # Duplicates are not handed on to programs that a cell starts.
        self.requests = os.fdopen(os.dup(0), "rb")
        self.replies = os.dup(3)
        self.outputs = {1: os.dup(1), 2: os.dup(2)}
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.close(3)
        self.streams = (sys.stdout, sys.stderr)
        for stream in self.streams:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=False)

    def begin(self):
        """Undoes what an earlier cell did to the standard streams."""
        for number, kept in self.outputs.items():
            os.dup2(kept, number)
        sys.stdin = NoInput()
        sys.stdout, sys.stderr = self.streams

    def end(self, mark):
        for stream in {sys.stdout, sys.stderr, *self.streams}:
            try:
                stream.flush()
            except Exception:  # the cell's own object, or closed by it
                pass
        flush_c_streams()
        for kept in self.outputs.values():
            write_all(kept, mark)

    def reply(self, value):
        write_all(self.replies, json.dumps(value).encode("ascii") + b"\n")


def flush_c_streams():
    try:
        ctypes = importlib.import_module("ctypes")
    except ImportError:  # a Python without it
        return
    ctypes.CDLL(None).fflush(None)


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def main(folder):
    global pictures
    channels = Channels()
    cells = Cells(folder)
    sys.meta_path.insert(0, Watcher())
    sys.path.insert(0, folder)
    own = os.getpid()
    for line in channels.requests:
        request = json.loads(line)
        if request["type"] == "reset":
            close_figures()
            cells.reset()
            channels.reply({"id": request["id"]})
            continue
        channels.begin()
        signal.signal(signal.SIGINT, cells.interrupt)
        pictures = Pictures()
        started = time.monotonic()
        exception, result = cells.run(request["code"])
        if os.getpid() != own:
            os._exit(0)  # a cell that forks and goes on: only one of the two may answer
        try:
            add_open_figures()
        except Exception as error:
            exception = exception or f"A figure could not be drawn: {error!r}"
        elapsed = time.monotonic() - started
        channels.end(request["mark"].encode("ascii"))
        value, kind = result or (None, None)
        channels.reply(
            {
                "id": request["id"],
                "exception": exception,
                "repr": value,
                "type": kind,
                "images": pictures.images,
                "frames": pictures.frames,
                "ms": round(elapsed * 1000, 3),
            }
        )


main(sys.argv[1])
