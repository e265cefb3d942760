#!/usr/bin/env bash
# Bot Framework (Python): a bot asks "Refund 5,000?" with a `ConfirmPrompt` whose locale is German, French, Spanish and so on. Its two buttons
# are in that language, and a button sends its own text.
# Guess: the text of the button for no is a no. Seen: it is a yes in about half of the processes, and the text for yes is a no there. Words that
# the recognizer doesn't know are looked up in a Python set of the two choices, and the place found there is compared with that of yes. The order
# of a set of objects depends on their addresses, so it stays the same until the process ends, and another worker of the same bot may read
# the same answer the other way around. The published recognizer knows English only. In English, it takes the first word that it knows, whatever
# is around it: "I am not sure" and "I don't agree" are a yes.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check botbuilder-core==4.17.1 botbuilder-dialogs==4.17.1 aiohttp==3.14.5
cat >"$folder/bot.py" <<'PYTHON'
import asyncio
import json
import sys

from botbuilder.core import ConversationState, MemoryStorage, MessageFactory
from botbuilder.core.adapters import TestAdapter
from botbuilder.dialogs import DialogSet, DialogTurnStatus
from botbuilder.dialogs.prompts import ConfirmPrompt, PromptOptions


class Bot:
    """A bot that asks one question with a ConfirmPrompt, and keeps what the prompt has made of the answer."""

    def __init__(self, locale):
        self.state = ConversationState(MemoryStorage())
        self.dialogs = DialogSet(self.state.create_property("dialogs"))
        self.dialogs.add(ConfirmPrompt("confirm", default_locale=locale))
        self.adapter = TestAdapter(self.turn)
        self.adapter.template.channel_id = "msteams"
        self.said = None

    async def turn(self, context):
        dialog = await self.dialogs.create_context(context)
        result = await dialog.continue_dialog()
        if result.status == DialogTurnStatus.Empty:
            await dialog.prompt("confirm", PromptOptions(prompt=MessageFactory.text("Refund 5,000?")))
        elif result.status == DialogTurnStatus.Complete:
            self.said = "yes" if result.result else "no"
        await self.state.save_changes(context)

    async def ask(self):
        await self.adapter.send("Hello")
        return self.adapter.get_next_activity()


async def meaning(locale, words):
    bot = Bot(locale)
    await bot.ask()
    await bot.adapter.send(words)
    return bot.said or "asked again"


async def buttons(locale):
    """Return the texts that the two buttons of the question send: yes, no."""
    question = await Bot(locale).ask()
    return [action.value for action in question.attachments[0].content.buttons]


async def main():
    meanings = {}
    for locale in ("de-de", "fr-fr", "es-es", "it-it", "pt-br", "nl-nl", "ja-jp"):
        texts = await buttons(locale)
        meanings[locale] = [texts, [await meaning(locale, text) for text in texts]]
    english = ("Yes", "No", "1", "2", "I am not sure", "I don't agree", "Not sure, ask Carol", "Please don't")
    meanings["en-us"] = {words: await meaning("en-us", words) for words in english}
    json.dump(meanings, sys.stdout)


asyncio.run(main())
PYTHON
cat >"$folder/look.py" <<'PYTHON'
import json
import subprocess
import sys
from collections import Counter
from importlib.metadata import version

run = [sys.executable, "-W", "ignore", sys.argv[1]]
processes = [json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout) for _ in range(10)]
english = [process.pop("en-us") for process in processes]
read = {}
for process in processes:
    for texts, meanings in process.values():
        read.setdefault("/".join(texts), Counter())["/".join(meanings)] += 1
print("botbuilder-dialogs", version("botbuilder-dialogs"), "with recognizers-text-choice", version("recognizers-text-choice"))
print("expected yes/no for both buttons in each process, seen in 10 processes:")
for texts, counts in read.items():
    print(f"  {texts}: {dict(counts)}")
print("  English:", english[0])
total = sum(read.values(), Counter())
# Tosses of a coin, 50 of them where both words are unknown: each side comes up.
assert set(total) >= {"yes/no", "no/yes"}, total
assert total["no/yes"] >= 10, total
known = {"Yes": "yes", "No": "no", "1": "yes", "2": "no", "Please don't": "asked again"}
unsure = {"I am not sure": "yes", "I don't agree": "yes", "Not sure, ask Carol": "yes"}
assert all(each == {**known, **unsure} for each in english), english
PYTHON
cd "$folder"
venv/bin/python look.py bot.py
