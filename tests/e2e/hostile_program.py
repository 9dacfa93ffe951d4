"""A program that treats its receiver badly: a thousand connections, gzip bombs, noise, bodies that stop. Then it sends
one sound message, and prints the most memory (KiB) that the receiver's process ever had, and what it was answered."""

import gzip
import json
import os
import random
import resource
import socket
import threading
import urllib.error
import urllib.request

endpoint = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
host, port = endpoint.removeprefix("http://").split(":")
address = (host, int(port))
answers = {}


def connect():
    return socket.create_connection(address, timeout=60)


def post(body, headers):
    """The status of an answer, or none where the connection ended without one."""
    request = urllib.request.Request(endpoint + "/v1/traces", body, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return "cut off"


def count(what, status):
    answers.setdefault(what, {}).setdefault(str(status), 0)
    answers[what][str(status)] += 1


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    noise = random.Random(7)
    for _ in range(100):
        with connect() as stream:
            try:
                stream.sendall(noise.randbytes(noise.randrange(1, 4000)))
            except OSError:
                pass
    bomb = gzip.compress(bytes(300 << 20), 1)
    bombs = [threading.Thread(target=lambda: count("bomb", post(bomb, {"content-encoding": "gzip"}))) for _ in range(8)]
    for thread in bombs:
        thread.start()
    for thread in bombs:
        thread.join()
    head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60000000\r\n\r\n"
    streams = []
    for _ in range(1000):
        stream = connect()
        try:
            stream.sendall(head + b" " * 30000)
        except OSError:
            pass
        streams.append(stream)
    for stream in streams:
        stream.close()
    count("garbage", post(b"<html>", {}))
    span = {"traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708", "name": "sound",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    message = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    for _ in range(600):
        status = post(json.dumps(message).encode(), {})
        count("sound", status)
        if status == 200:
            break
    with open(f"/proc/{os.getppid()}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    with open("answers.json", "w") as file:
        json.dump({"peak_kib": peak, "answers": answers}, file)


main()
