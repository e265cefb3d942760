/** Cards for the two built-in questions of Pausepoint: `askUser` (options) and `askHuman` (free text). */

import { useId, useState, type FormEvent } from "react";
import { Values } from "./values";

type Option = { label: string; description?: string };

/** `fieldName` is empty for `askHuman`, whose answer is the text itself; its options are suggestions. */
export type Asked = { question: string; options: Option[]; multiple: boolean; fieldName: string; context: unknown };

/** Return the question in the input of a call, or null if there is none in a known shape. */
export function questionOf(toolName: string, input: unknown): Asked | null {
  const { question, options, multiSelect, fieldName, suggestions, context } = (input ?? {}) as Record<string, unknown>;
  if (typeof question !== "string") return null;
  if (toolName === "askHuman") {
    const labels = Array.isArray(suggestions) ? suggestions : [];
    return { question, options: labels.map((label) => ({ label })), multiple: false, fieldName: "", context };
  }
  if (toolName !== "askUser" || !Array.isArray(options) || typeof fieldName !== "string") return null;
  return { question, options, multiple: multiSelect === true, fieldName, context: null };
}

export function Question({ question, onAnswer }: { question: Asked; onAnswer: (output: unknown) => void }) {
  const [chosen, setChosen] = useState<number[]>([]);
  const [text, setText] = useState("");
  const id = useId();

  const give = (places: number[], words: string) => {
    if (!question.fieldName) return onAnswer(words || question.options[places[0]].label);
    onAnswer({
      fieldName: question.fieldName,
      selected: places.map((place) => question.options[place].label),
      selectedIndex: question.multiple ? places : (places[0] ?? null),
      ...(words && { text: words }),
    });
  };
  const toggle = (place: number) =>
    setChosen(chosen.includes(place) ? chosen.filter((one) => one !== place) : [...chosen, place].sort((a, b) => a - b));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (chosen.length || text.trim()) give(chosen, text.trim());
  };

  return (
    <form onSubmit={submit}>
      {question.context ? <Values value={question.context} /> : null}
      <div className="options">
        {question.options.map((option, place) =>
          question.multiple ? (
            <label key={place} className="option">
              <input type="checkbox" checked={chosen.includes(place)} onChange={() => toggle(place)} />
              <Words option={option} />
            </label>
          ) : (
            <button key={place} type="button" className="option" onClick={() => give([place], text.trim())}>
              <Words option={option} />
            </button>
          ),
        )}
      </div>
      <label htmlFor={id}>{question.options.length ? "Or in your own words" : "Your answer"}</label>
      <div className="line">
        <input id={id} value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
        <button className="primary" disabled={!chosen.length && !text.trim()}>
          Answer
        </button>
      </div>
    </form>
  );
}

function Words({ option }: { option: Option }) {
  return (
    <span>
      <strong>{option.label}</strong>
      {option.description && <small>{option.description}</small>}
    </span>
  );
}

/** The answer, as text if it has one of the shapes above. */
export function Answer({ output }: { output: unknown }) {
  const words = wordsOf(output);
  return words ? <p className="said">“{words}”</p> : <Values value={output} />;
}

function wordsOf(output: unknown): string {
  if (typeof output === "string") return output;
  const { selected, text, response } = (output ?? {}) as Record<string, unknown>;
  if (typeof response === "string") return response;
  const labels = Array.isArray(selected) ? selected.filter((one) => typeof one === "string") : [];
  return [labels.join(", "), typeof text === "string" ? text : ""].filter(Boolean).join(". ");
}
