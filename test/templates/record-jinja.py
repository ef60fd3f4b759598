"""Records what Python's Jinja2, set up as Transformers does, makes of the templates in jinja-probes.json.

    python3 test/templates/record-jinja.py [--check]

--check compares with what is recorded. Needs jinja2.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

import jinja2
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

FILE = Path(__file__).parent / "jinja-probes.json"


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_generation"), [], [], body).set_lineno(line)

    def _generation(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    extensions = [Generation, "jinja2.ext.loopcontrols", "jinja2.ext.do"]
    out = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    out.filters["tojson"] = tojson
    out.globals["raise_exception"] = raise_exception
    out.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return out


def rendered(env, template, variables):
    """The text, or None for an error."""
    try:
        return env.from_string(template).render(**variables)
    except Exception:
        return None


def main():
    recorded = json.loads(FILE.read_text())
    env, variables = environment(), json.loads(recorded["variables"])
    probes = [[template, rendered(env, template, variables)] for template, _ in recorded["probes"]]
    if "--check" in sys.argv:
        wrong = [new for new, old in zip(probes, recorded["probes"]) if new != old]
        print(json.dumps(wrong, ensure_ascii=False, indent=1))
        sys.exit(1 if wrong else 0)
    lines = ",\n".join(json.dumps(probe, ensure_ascii=False) for probe in probes)
    FILE.write_text('{"variables": %s,\n"probes": [\n%s\n]}\n' % (json.dumps(recorded["variables"], ensure_ascii=False), lines))


main()
