"""Shows cards in a browser with Microsoft's own renderer, in colors like those of Teams."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.root import ROOT
from tests.support.teams.cards import Json

PACKAGES = ROOT / "tests" / "contract" / "adaptive_cards"
STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 "Segoe UI", system-ui, sans-serif; }
body { margin: 0; padding: 24px; background: light-dark(#f5f5f5, #1f1f1f); color: light-dark(#242424, #fff); }
article { max-width: 560px; margin: 0 0 20px 44px; position: relative; }
article::before { content: "P"; position: absolute; left: -44px; width: 32px; height: 32px; border-radius: 6px;
  background: #0f766e; color: #fff; text-align: center; line-height: 32px; font-weight: 600; }
header { margin-bottom: 4px; font-size: 12px; color: light-dark(#616161, #adadad); }
header b { color: light-dark(#242424, #fff); margin-right: 8px; font-size: 14px; }
section { background: light-dark(#fff, #292929); border: 1px solid light-dark(#d1d1d1, #525252); border-radius: 6px; }
.ac-textRun { color: light-dark(#242424, #fff) !important; font-family: inherit !important;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.ac-pushButton { background: light-dark(#fff, #292929); color: inherit; border: 1px solid light-dark(#d1d1d1, #666);
  border-radius: 4px; padding: 5px 12px; font: 600 14px "Segoe UI", system-ui, sans-serif; }
.ac-pushButton.style-positive, .ac-pushButton.primary { background: #5b5fc7; border-color: #5b5fc7; color: #fff; }
.ac-pushButton.style-destructive { color: light-dark(#c4314b, #e37d80); border-color: currentColor; }
.ac-input { box-sizing: border-box; width: 100%; padding: 6px; font: inherit; color: inherit;
  border: 1px solid light-dark(#d1d1d1, #666); border-radius: 4px; background: light-dark(#fff, #1f1f1f); }
.ac-actionSet { flex-wrap: wrap; gap: 8px 0; }
"""
RENDER = """
cards => {
  const { AdaptiveCard, HostConfig } = window.AdaptiveCards;
  // Whatever is read as Markdown is marked, so that a test can see it.
  AdaptiveCard.onProcessMarkdown = (text, result) => { result.outputHtml = "MARKDOWN"; result.didProcess = true; };
  window.sent = [];
  for (const content of cards) {
    const card = new AdaptiveCard();
    card.hostConfig = new HostConfig({ actions: { maxActions: 6, actionsOrientation: "horizontal", actionAlignment: "left",
      buttonSpacing: 8, showCard: { actionMode: "inline", inlineTopMargin: 12 } }, spacing: { padding: 16 } });
    card.onExecuteAction = action => window.sent.push({ verb: action.verb, data: action.data });
    card.parse(content);
    const article = document.createElement("article");
    article.innerHTML = "<header><b>Pausepoint</b>App</header><section></section>";
    article.querySelector("section").append(card.render());
    document.body.append(article);
  }
}
"""


def show(page: Page, cards: list[Json]) -> None:
    """Show these cards on an empty page; `window.sent` gets what is sent by clicks.

    The packages of `PACKAGES` must be installed.
    """
    page.set_content(f"<!doctype html><html lang=en><title>Teams</title><style>{STYLE}</style><body></body></html>")
    page.add_script_tag(path=PACKAGES / "node_modules" / "adaptivecards" / "dist" / "adaptivecards.min.js")
    page.evaluate(RENDER, cards)
