"""An agent of a league that asks a language model; it is started by `python llm_agent.py MODEL TOKENS`.

Any endpoint with OpenAI's chat completions does: OPENAI_BASE_URL, with the key in OPENAI_API_KEY if it needs
one. The model reads the brief, the feedback and the files of the bot, and answers with whole files. What a
check of them finds is shown to it, a few times; no answer has more than TOKENS. Without a file that passes,
the status is 1.
"""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

ROUNDS = 4
"""How often the model is asked."""
SECONDS = 600
SHOWN = 30_000
"""Characters of a file that the model reads."""
FEEDBACK = ("edit.json", "weaknesses.json", "printed.txt")
ASKED = """Improve the bot. Answer with whole files, each as

FILE name
```
content
```
"""
ANSWERED = re.compile(r"^FILE +([\w./-]+)\s*\n```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main(model: str, most_tokens: int) -> int:
    """Let a model edit the project in this folder; return the exit status."""
    messages = [
        {"role": "system", "content": shown("BRIEF.md")},
        {"role": "user", "content": "\n\n".join([*map(shown, asked_about()), ASKED])},
    ]
    tokens = 0
    for _ in range(ROUNDS):
        answer, used = ask(model, messages, most_tokens)
        tokens += used
        Path("usage.json").write_text(json.dumps({"tokens": tokens}))
        sys.stdout.write(f"{answer}\n")
        problem = write(answer) or check()
        if not problem:
            return 0
        messages += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": f"{problem}\n{ASKED}"},
        ]
    return 1


def asked_about() -> list[str]:
    """Return what the model reads besides its brief: the feedback, and the project's files."""
    feedback = [f"feedback/{name}" for name in FEEDBACK]
    own = [
        path.as_posix() for path in sorted(Path().glob("*")) if path.name not in ("BRIEF.md", "usage.json")
    ]
    return [name for name in (*feedback, *own) if Path(name).is_file()]


def shown(name: str) -> str:
    """Return a file as the model reads it."""
    text = Path(name).read_text("utf-8", errors="replace")[:SHOWN]
    return f"FILE {name}\n```\n{text}\n```"


def ask(model: str, messages: list[dict[str, str]], most_tokens: int) -> tuple[str, int]:
    """Return the model's answer, and the tokens that it took."""
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    key = os.environ.get("OPENAI_API_KEY", "")
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    body = json.dumps({"model": model, "messages": messages, "max_tokens": most_tokens}).encode()
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - the user's own endpoint
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - as above
        content = json.load(response)
    answer = content["choices"][0]["message"]["content"] or ""
    return answer, int(content.get("usage", {}).get("total_tokens", 0))


def write(answer: str) -> str:
    """Write the files of an answer; return what is wrong with it, "" if nothing is."""
    files = ANSWERED.findall(answer)
    for name, content in files:
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            return f"{name} is not in the project."
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return "" if files else "There was no file in the answer."


def check() -> str:
    """Return what is wrong with the project's Python files; "" if all can be read."""
    for path in sorted(Path().glob("*.py")):
        try:
            compile(path.read_text("utf-8"), path.name, "exec")
        except (SyntaxError, ValueError) as error:
            return f"{type(error).__name__}: {path}: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
