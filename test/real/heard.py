"""Writes down what it hears, a line for each file: heard.py MODEL WAV...  (needs faster-whisper)"""

import sys

from faster_whisper import WhisperModel

model = WhisperModel(sys.argv[1], device="cpu", compute_type="int8", cpu_threads=2)
for path in sys.argv[2:]:
    segments, _ = model.transcribe(path, beam_size=5, language="en")
    print("".join(segment.text for segment in segments).strip().replace("\n", " "), flush=True)
