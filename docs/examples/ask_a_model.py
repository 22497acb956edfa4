"""Ask a model that speaks OpenAI's protocol, with the memory: `python ask_a_model.py URL MODEL "question"`."""

import json
import sys
from urllib.request import Request, urlopen

from memctl import Memory


def ask(url: str, model: str, question: str) -> str:
    with Memory.open() as memory:
        known = memory.pack(task=question, budget=4000)
    messages = [{"role": "system", "content": known.text}, {"role": "user", "content": question}]
    body = json.dumps({"model": model, "messages": messages}).encode()
    request = Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        text: str = json.load(answer)["choices"][0]["message"]["content"]
    return text


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(ask(*sys.argv[1:]))
