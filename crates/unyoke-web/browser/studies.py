"""Studies that the tests and the screenshots show, made with the program itself."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

PROGRAM = os.environ["UNYOKE_PROGRAM"]

# Whoever uses the program on this machine; in browsers it is Ada.
os.environ["UNYOKE_USER"] = "Ben"

COATING = """
[study]
name = "coating"

[budget]
cost = 90

[initial]
designs = 4

[parameters.temperature]
low = 60
high = 120
step = 5

[parameters.time]
type = "integer"
low = 10
high = 60

[parameters.hardener]
low = 1.0
high = 5.0
digits = 1

[objectives.hardness]
direction = "maximise"
noise = "unknown"
cost = 1

[objectives.gloss]
direction = "maximise"
noise = "unknown"
cost = 3
"""

PLATE = """
[study]
name = "plate"

[budget]
cost = 60

[initial]
designs = 2

[run]
slots = 2

[parameters.thickness]
low = 1.0
high = 5.0

[objectives.mass]
direction = "minimise"
cost = 1
command = ["{python}", "measure.py", "mass", "{{thickness}}"]

[objectives.deflection]
direction = "minimise"
cost = 10
command = ["{python}", "measure.py", "deflection", "{{thickness}}"]
"""

# Waits for the file `go` if there is one called `wait`: tests decide when a run ends.
MEASURE = """
import os, sys, time
what, thickness = sys.argv[1], float(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
print(f"measuring {what} at {thickness:.3f}", file=sys.stderr, flush=True)
while os.path.exists(os.path.join(here, "wait")) and not os.path.exists(os.path.join(here, "go")):
    time.sleep(0.02)
print(thickness if what == "mass" else 1 / thickness**3)
"""

HOSTILE = "<img src=x onerror=document.title='owned'>"


def unyoke(folder, *arguments, check=True):
    """Runs the program in a folder and returns what it printed."""
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"unyoke {arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def evaluations(folder, file="study.toml"):
    return json.loads(unyoke(folder, "export", "--json", file))


def scatter(temperature, time, hardener):
    """Noise that is the same in every run."""
    return math.sin(12.9898 * temperature + 78.233 * time + 37.719 * hardener)


def hardness(temperature, time, hardener):
    noise = 2.5 * scatter(temperature, time, hardener)
    return round(noise + 60 + 0.5 * (temperature - 60) + 0.4 * time + 6 * hardener - 0.004 * (temperature - 60) ** 2 - 0.006 * time**2, 1)


def gloss(temperature, time, hardener):
    noise = 1.5 * scatter(time, hardener, temperature)
    return round(noise + 95 - 0.25 * (temperature - 60) - 0.2 * time + 3 * math.sin(hardener) - 0.8 * hardener, 1)


def coating(folder, rows=10):
    """A study by hand with values, a failure, a correction and something that waits."""
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(COATING)
    lines = ["temperature,time,hardener,hardness,gloss"]
    for i in range(rows):
        t, m, h = 60 + 5 * (i * 5 % 13), 10 + i * 23 % 51, round(1 + (i * 0.7) % 4, 1)
        shine = gloss(t, m, h) if i % 3 else ""
        lines.append(f"{t},{m},{h},{hardness(t, m, h)},{shine}")
    (folder / "old.csv").write_text("\n".join(lines) + "\n")
    unyoke(folder, "import", "old.csv")
    for fate in ["value", "value", "failed", "slip", "value", "waits"]:
        asked = json.loads(unyoke(folder, "ask", "--json"))
        asked = asked[0] if isinstance(asked, list) else asked
        number, at = str(asked["evaluation"]), asked["design"]
        value = {"hardness": hardness, "gloss": gloss}[asked["measurement"]](**at)
        if fate == "value":
            unyoke(folder, "tell", number, str(value))
        elif fate == "failed":
            unyoke(folder, "tell", number, "--failed", "the coating ran off the panel")
        elif fate == "slip":
            unyoke(folder, "tell", number, str(10 * value))
            unyoke(folder, "tell", "--correct", number, str(value))
    return folder


def plate(folder):
    """A study whose measurements are commands."""
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(PLATE.format(python=sys.executable))
    (folder / "measure.py").write_text(MEASURE)
    return folder


def hostile(folder):
    """A study whose every name and reason would like to be markup."""
    folder.mkdir(parents=True)
    quoted = json.dumps(HOSTILE)
    (folder / "study.toml").write_text(
        f"[study]\nname = {quoted}\n[budget]\ncost = 50\n[initial]\ndesigns = 2\n"
        f"[parameters.{quoted}]\nlow = 0\nhigh = 1\n"
        f'[parameters.kind]\nchoices = [{quoted}, "plain"]\n'
        f'[objectives.f]\ndirection = "minimise"\ncost = 1\n'
        f'[objectives.g]\ndirection = "maximise"\ncost = 2\n'
    )
    for i in range(10):
        asked = json.loads(unyoke(folder, "ask", "--json"))
        asked = asked[0] if isinstance(asked, list) else asked
        number = str(asked["evaluation"])
        if i == 7:
            unyoke(folder, "tell", number, "--failed", HOSTILE)
        else:
            x = asked["design"][HOSTILE]
            unyoke(folder, "tell", number, str(x if asked["measurement"] == "f" else x * x))
    return folder


class Server:
    """`unyoke serve` on a port of its own, which can be killed and started again."""

    def __init__(self, folder, *studies, write=True):
        self.folder, self.studies, self.write = Path(folder), studies or ("study.toml",), write
        self.port, self.process = 0, None
        self.start()

    def start(self):
        arguments = [PROGRAM, "serve", *self.studies, "--listen", str(self.port), "--tokens", "tokens", "--json"]
        arguments += ["--write"] if self.write else []
        self.process = subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text = ""
        while True:
            line = self.process.stdout.readline()
            if line == "":
                raise AssertionError(f"unyoke serve ended: {text}{self.process.stderr.read()}")
            text += line
            if line.startswith("}"):
                break
        said = json.loads(text)
        self.port = int(said["address"].rsplit(":", 1)[1])
        self.read_url, self.write_url = said["read_url"], said["write_url"]

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}"

    def url(self, view, study=None, query=""):
        """The address of a view, with the token: to write where that is allowed."""
        token = (self.write_url or self.read_url).split("token=")[1]
        return f"{self.base}/studies/{study or self.folder.name}/{view}?token={token}{query}"

    def wait_for_models(self, study=None):
        """Until what takes long is computed."""
        token = self.read_url.split("token=")[1]
        for view in ("next", "report"):
            address = f"{self.base}/api/studies/{study or self.folder.name}/{view}?wait=25"
            request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
            while urllib.request.urlopen(request).status != 200:
                pass
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def copy(study, folder):
    """A study of one's own: a finished one is copied, which is quicker than making it."""
    shutil.copytree(study, folder)
    return folder
