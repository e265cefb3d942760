// What the scripts of the pages (static/pausepoint) share with each other, with the templates and with htmx. `make check` checks
// them against it; browsers never read it.
import type { ParseSelector } from "typed-query-selector/parser";

declare global {
  // --- Scripts from elsewhere: htmx, and the catalog of translations.
  const htmx: {
    config: { wsReconnectDelay: (tries: number) => number };
    defineExtension(name: string, extension: { transformResponse(text: string): string }): void;
    process(element: Element): void;
    swap(target: Element, html: string, how: { swapStyle: string }, options?: { select: string }): void;
  };
  function gettext(text: string): string;
  function ngettext(one: string, many: string, count: number): string;
  function interpolate(text: string, values: (string | number)[] | Record<string, unknown>, named?: boolean): string;

  // --- What scripts offer each other.
  interface Pausepoint {
    typing: Typing;
    toasts: Toasts;
    /** The person's time zone. */
    zone: string;
    /** The time of the server, in milliseconds. */
    now(): number;
    /** A time of today without its day, in that zone. */
    clockTime(moment: Date): string;
    /** Only in the inbox. Scripts that also run elsewhere check it first. */
    pane: Pane;
    inUse(card: Element): boolean;
    unfold(card: HTMLElement): boolean;
    reveal(element: Element | null): void;
    seen: Seen;
    going?(): boolean;
    snooze?(): void;
    decide(key: string): void;
  }
  interface Seen {
    readOn(cards: HTMLElement[]): boolean;
    goToFile(card: HTMLElement): boolean;
    isSeen(card: HTMLElement): boolean;
    hasJustMoved(): boolean;
  }
  interface Typing {
    isField(element: Element | null): boolean;
    isInMenu(element: Element | null): boolean;
    isComposing(event: KeyboardEvent): boolean;
    keyOf(event: KeyboardEvent): string;
    hush(): void;
    keepFocus(target: Element): void;
  }
  interface Toasts {
    show(id: string, words: string, how: { alert?: boolean; link?: string }): HTMLElement;
    makeButton(words: string, act: () => unknown): HTMLButtonElement;
  }
  interface Pane {
    open(id: string, how?: { focus?: boolean; itself?: boolean; history?: boolean }): void;
    close(how?: { history?: boolean }): void;
    move(step: number): void;
    selected(): HTMLElement | null;
    isSplit(): boolean;
    openNext(id: string): void;
    idOf(row: Element): string;
    rowOf(id: string): HTMLElement | null;
    titleOf(row: Element): HTMLElement;
    show(): void;
    current(): string;
    isLoaded(): boolean;
    isSettled(pause?: number): boolean;
    card(): HTMLElement | null;
    wasDecidedHere(id: string): boolean;
  }
  interface Window {
    pausepoint: Pausepoint;
  }

  // --- What templates contain. A script returns at once on pages that do not have its elements.
  interface ElementsById {
    announcements: HTMLElement;
    "api-none": HTMLElement;
    "api-search": HTMLInputElement;
    arrivals: HTMLElement;
    "arrivals-show": HTMLElement;
    bulk: HTMLFormElement;
    "bulk-all": HTMLInputElement;
    "bulk-count": HTMLElement;
    "bulk-every": HTMLElement;
    detail: HTMLElement;
    "detail-body": HTMLElement;
    "detail-close": HTMLElement;
    "detail-kept": HTMLElement;
    "detail-next": HTMLElement;
    "detail-none": HTMLElement;
    "detail-place": HTMLElement;
    "detail-previous": HTMLElement;
    "detail-snooze": HTMLElement;
    "detail-whole": HTMLAnchorElement;
    "filter-q": HTMLElement;
    filters: HTMLFormElement;
    inbox: HTMLElement;
    "list-waiting": HTMLElement;
    keys: HTMLDialogElement;
    "keys-hint": HTMLElement;
    "keys-open": HTMLElement;
    "keys-switch": HTMLInputElement;
    main: HTMLElement;
    notify: HTMLButtonElement;
    "palette-pages": HTMLTemplateElement;
    print: HTMLElement;
    "push-switch": HTMLButtonElement;
    "request-detail": HTMLElement;
    snooze: HTMLDialogElement;
    "snooze-back": HTMLElement;
    "snooze-form": HTMLFormElement;
    "snooze-request": HTMLElement;
    "styleguide-dialog": HTMLDialogElement;
    "styleguide-open": HTMLElement;
    text: HTMLTextAreaElement;
    timeline: HTMLElement;
    "user-menu": HTMLElement;
    workflows: HTMLElement;
    "zone-offer": HTMLButtonElement;
  }
  interface Document {
    getElementById<Id extends keyof ElementsById>(id: Id): ElementsById[Id];
  }
  /** Parts that are there wherever a script looks for them. */
  interface Parts {
    ".live-words": HTMLElement;
    ".pick": HTMLElement;
    ".row-title": HTMLElement;
    ".row-values": HTMLElement;
    ".try-answer": HTMLElement;
    "[data-themes]": HTMLFormElement;
    "form[data-logout]": HTMLFormElement;
    "link[rel=icon]": HTMLLinkElement;
    pre: HTMLPreElement;
    span: HTMLSpanElement;
    summary: HTMLElement;
    time: HTMLTimeElement;
  }
  // A selector says which element it finds; the pages look only for elements of HTML.
  interface ParentNode {
    querySelector<S extends keyof Parts>(selector: S): Parts[S];
    querySelector<S extends string>(selector: S): ParseSelector<S, HTMLElement> | null;
    querySelectorAll<S extends string>(selector: S): NodeListOf<ParseSelector<S, HTMLElement>>;
  }
  interface Element extends HTMLOrSVGElement {
    cloneNode(subtree?: boolean): this;
    closest<S extends string>(selector: S): ParseSelector<S, HTMLElement> | null;
  }

  interface HTMLFormControlsCollection {
    comment: HTMLTextAreaElement;
    q: HTMLInputElement;
    typed_name: HTMLInputElement;
    zone: HTMLInputElement;
  }
  // Attributes that are there wherever a script reads them.
  interface DOMStringMap {
    add: string;
    blocked: string;
    copied: string;
    copy: string;
    deadline: string;
    fill: string;
    fold: string;
    key: string;
    list: string;
    method: string;
    off: string;
    on: string;
    path: string;
    plain: string;
    pointer: string;
    remove: string;
    request: string;
    session: string;
    text: string;
    title: string;
    url: string;
    urgency: string;
    view: string;
  }
  // As at runtime, where a missing entry of a storage is parsed as null.
  interface JSON {
    // biome-ignore lint/suspicious/noExplicitAny: what it returns without a declaration
    parse(text: string | null): any;
  }

  // --- Events. They begin at an element, and scripts ask which one it is before they read what only some have.
  interface Targets {
    change: HTMLInputElement;
    focusin: HTMLInputElement;
    focusout: HTMLInputElement;
    input: HTMLInputElement;
    keydown: HTMLInputElement;
    submit: HTMLFormElement;
    toggle: HTMLDetailsElement;
  }
  type Aimed<Type, Of> = Of & { target: Type extends keyof Targets ? Targets[Type] : HTMLElement } & (Type extends "submit"
      ? { submitter: HTMLButtonElement | null }
      : unknown);
  interface Document {
    addEventListener<Type extends keyof DocumentEventMap>(
      type: Type,
      listener: (event: Aimed<Type, DocumentEventMap[Type]>) => unknown,
      options?: boolean | AddEventListenerOptions,
    ): void;
  }
  interface HTMLElement {
    addEventListener<Type extends keyof HTMLElementEventMap>(
      type: Type,
      listener: (event: Aimed<Type, HTMLElementEventMap[Type]>) => unknown,
      options?: boolean | AddEventListenerOptions,
    ): void;
  }
  interface HTMLFormElement {
    addEventListener(type: "submit", listener: (event: Aimed<"submit", SubmitEvent>) => unknown): void;
  }

  interface AboutRequest {
    id: string;
  }
  interface Htmx {
    elt: HTMLElement;
    target: HTMLElement;
    xhr: XMLHttpRequest;
    successful: boolean;
    shouldSwap: boolean;
    requestConfig: { elt: HTMLElement; verb: string; path: string; formData: FormData };
    serverResponse: string;
  }
  interface HTMLElementEventMap {
    "htmx:beforeSwap": CustomEvent<Htmx>;
  }
  interface DocumentEventMap {
    "htmx:afterRequest": CustomEvent<Htmx>;
    "htmx:afterSettle": CustomEvent<Htmx>;
    "htmx:afterSwap": CustomEvent<Htmx>;
    "htmx:beforeSend": CustomEvent<Htmx>;
    "htmx:beforeSwap": CustomEvent<Htmx>;
    "htmx:confirm": CustomEvent<{ question?: string; issueRequest: (skip: boolean) => void; triggeringEvent?: SubmitEvent }>;
    "htmx:load": CustomEvent<Htmx>;
    "htmx:oobBeforeSwap": CustomEvent<{ fragment: DocumentFragment; target: HTMLElement; shouldSwap: boolean }>;
    "htmx:sendError": CustomEvent<Htmx>;
    "htmx:timeout": CustomEvent<Htmx>;
    "htmx:wsAfterMessage": CustomEvent<{ message: string }>;
    "htmx:wsBeforeMessage": CustomEvent<{ message: string }>;
    "htmx:wsClose": CustomEvent<{ event: CloseEvent }>;
    "htmx:wsConnecting": CustomEvent;
    "htmx:wsOpen": CustomEvent;
    "pausepoint:counts": CustomEvent;
    "pausepoint:counts-soon": CustomEvent;
    "pausepoint:decided": CustomEvent<AboutRequest>;
    "pausepoint:opened": CustomEvent<AboutRequest>;
    "pausepoint:refused": CustomEvent<AboutRequest>;
    "pausepoint:stored": CustomEvent<AboutRequest>;
    "pausepoint:undo": CustomEvent;
    "pausepoint:undone": CustomEvent<AboutRequest>;
  }
}
