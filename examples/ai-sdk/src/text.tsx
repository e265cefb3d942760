/** Render simple Markdown as elements, never as HTML, so that text from a model cannot run anything. */

import { Fragment, type ReactNode } from "react";

const FENCE = /^```.*$/;
const BULLET = /^\s*[-*+]\s+/;
const NUMBER = /^\s*\d+[.)]\s+/;
const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;

export function Text({ text }: { text: string }) {
  return <div className="text">{blocks(text.split("\n"))}</div>;
}

/** Paragraphs, lists, headings and code. A block that is still open at the end (streaming text) counts as closed. */
function blocks(lines: string[]): ReactNode[] {
  const found: ReactNode[] = [];
  for (let at = 0; at < lines.length; ) {
    const key = at;
    const run = (belongs: (line: string) => boolean) => {
      const from = at;
      while (at < lines.length && belongs(lines[at])) at++;
      return lines.slice(from, at);
    };
    const line = lines[at];
    if (!line.trim()) at++;
    else if (FENCE.test(line)) {
      at++;
      const code = run((one) => !FENCE.test(one));
      at++;
      found.push(<pre key={key}>{code.join("\n")}</pre>);
    } else if (BULLET.test(line)) found.push(<ul key={key}>{items(run((one) => BULLET.test(one)), BULLET)}</ul>);
    else if (NUMBER.test(line)) found.push(<ol key={key}>{items(run((one) => NUMBER.test(one)), NUMBER)}</ol>);
    else if (/^#{1,6}\s/.test(line)) {
      at++;
      found.push(<h3 key={key}>{inline(line.replace(/^#+\s+/, ""))}</h3>);
    } else {
      const plain = run((one) => !!one.trim() && ![FENCE, BULLET, NUMBER, /^#{1,6}\s/].some((kind) => kind.test(one)));
      found.push(<p key={key}>{inline(plain.join("\n"))}</p>);
    }
  }
  return found;
}

function items(lines: string[], mark: RegExp): ReactNode[] {
  return lines.map((line, place) => <li key={place}>{inline(line.replace(mark, ""))}</li>);
}

function inline(text: string): ReactNode[] {
  const found: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, code, strong, soft, label, address] = match;
    found.push(<Fragment key={end}>{text.slice(end, match.index)}</Fragment>);
    end = match.index + all.length;
    const key = `${end}!`;
    if (code) found.push(<code key={key}>{code}</code>);
    else if (strong) found.push(<strong key={key}>{strong}</strong>);
    else if (soft) found.push(<em key={key}>{soft}</em>);
    else
      found.push(
        <a key={key} href={address} target="_blank" rel="noreferrer">
          {label}
        </a>,
      );
  }
  return [...found, text.slice(end)];
}
