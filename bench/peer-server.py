"""Serves a GGUF file through an engine that comes as a Python package without a server: chat completions, streamed or not, for bench/.

usage: peer-server.py mistralrs|openvino MODEL.gguf PORT THREADS STREAMS CONTEXT
"""

import itertools
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class MistralRs:
    def __init__(self, path, threads, streams, context):
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        os.environ["HF_HUB_OFFLINE"] = "1"
        from mistralrs import ChatCompletionRequest, Runner, Which

        self.request = ChatCompletionRequest
        which = Which.GGUF(quantized_model_id=os.path.dirname(path), quantized_filename=os.path.basename(path))
        self.runner = Runner(which=which, max_seqs=streams)
        # Release 0.9.5 fails on a batch of prompts ("input tensor is not contiguous"): one prompt at a time, then answers together.
        self.prompt = threading.Lock()

    def answer(self, messages, max_tokens, temperature):
        """Yields each token's text; last the tokens of prompt and answer."""
        request = self.request(
            messages, "default", max_tokens=max_tokens, stream=True, ignore_eos=True, temperature=temperature or None
        )
        usage, count = None, 0
        with self.prompt:
            chunks = iter(self.runner.send_chat_completion_request(request))
            first = next(chunks)
        for chunk in itertools.chain([first], chunks):
            usage = chunk.usage or usage
            if chunk.choices:
                count += 1
                yield chunk.choices[0].delta.content or ""
        yield (usage.prompt_tokens, usage.completion_tokens) if usage else (0, count)


class OpenVino:
    def __init__(self, path, threads, streams, context):
        import openvino_genai as genai

        self.genai = genai
        scheduler = genai.SchedulerConfig()
        scheduler.max_num_seqs = streams
        scheduler.num_kv_blocks = 0
        scheduler.cache_size = 0  # grows as needed
        properties = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        self.pipeline = genai.ContinuousBatchingPipeline(path, scheduler, "CPU", properties)
        self.tokenizer = self.pipeline.get_tokenizer()
        self.work = threading.Condition()
        self.next = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            with self.work:
                while not self.pipeline.has_non_finished_requests():
                    self.work.wait()
            self.pipeline.step()
            with self.work:
                self.work.notify_all()

    def answer(self, messages, max_tokens, temperature):
        prompt = self.tokenizer.apply_chat_template(messages, True)
        ids = self.tokenizer.encode(prompt, add_special_tokens=False).input_ids
        config = self.genai.GenerationConfig()
        config.max_new_tokens = max_tokens
        config.ignore_eos = True
        config.do_sample = temperature > 0
        if temperature > 0:
            config.temperature = temperature
        with self.work:
            self.next += 1
            handle = self.pipeline.add_request(self.next, ids, config)
            self.work.notify_all()
        count = 0
        while count < max_tokens:
            with self.work:
                while not handle.can_read():
                    self.work.wait(1)
            for output in handle.read().values():
                for token in output.generated_ids:
                    count += 1
                    yield self.tokenizer.decode([token]) or " "
        yield (ids.shape[1], count)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = None

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        pieces = self.engine.answer(body["messages"], body.get("max_tokens", 16), body.get("temperature", 1))
        if body.get("stream"):
            self.stream(pieces)
        else:
            *texts, usage = pieces
            data = json.dumps({"choices": [{"message": {"content": "".join(texts)}}], "usage": counts(usage)}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def stream(self, pieces):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            is_text = isinstance(piece, str)
            choices = [{"index": 0, "delta": {"content": piece}}] if is_text else []
            event = {"object": "chat.completion.chunk", "created": int(time.time()), "choices": choices}
            self.send(json.dumps(event if is_text else {**event, "usage": counts(piece)}))
        self.send("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def send(self, text):
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def counts(usage):
    prompt, completion = usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def main():
    name, path, *numbers = sys.argv[1:]
    port, threads, streams, context = map(int, numbers)
    engine = {"mistralrs": MistralRs, "openvino": OpenVino}[name]
    Handler.engine = engine(os.path.abspath(path), threads, streams, context)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


main()
