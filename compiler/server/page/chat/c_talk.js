// The conversation: what is sent, and how the answer and its speed are shown.

let messages = [];  // of the chat, without the system message
let control = null;

const headers = () => at("key").value ? { Authorization: "Bearer " + at("key").value } : {};
const isChat = () => at("chat").checked;

function post(path, body, signal) {
  return fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });
}

function say(className, text) {
  const made = element("div", "message " + className, text);
  at("talk").append(made);
  return made;
}

function options() {
  const result = { stream: true, stream_options: { include_usage: true } };
  for (const name of ["max_tokens", "temperature", "top_p", "seed"])
    if (at(name).value !== "") result[name] = Number(at(name).value);
  if (!at("probabilities").checked) return result;
  return isChat() ? { ...result, logprobs: true, top_logprobs: 5 } : { ...result, logprobs: 5 };
}

function request(text) {
  if (!isChat()) return ["/v1/completions", { prompt: text, ...options() }];
  const system = at("system").value === "" ? [] : [{ role: "system", content: at("system").value }];
  return ["/v1/chat/completions", { messages: [...system, ...messages], ...options() }];
}

// Time of the first token, number of tokens and their rate. The first token waits for the prompt to be read, so the rate is
// that of the tokens after it. Without probabilities, a chat counts events until the server says how many tokens there were.
class Speed {
  constructor() { this.begin = performance.now(), this.first = 0, this.tokens = 0, this.prompt = ""; }
  add(count) { this.first ||= performance.now(), this.tokens += count; }
  end(usage) { this.tokens = usage.completion_tokens, this.prompt = usage.prompt_tokens + " tokens of the prompt, "; }
  text() {
    if (!this.first) return "reading the prompt";
    const seconds = (performance.now() - this.first) / 1000, wait = ((this.first - this.begin) / 1000).toFixed(2);
    const rate = this.tokens > 1 && seconds > 0 ? ", " + ((this.tokens - 1) / seconds).toFixed(1) + " tokens/s" : "";
    return this.prompt + this.tokens + " new tokens, the first after " + wait + " s" + rate;
  }
}

async function answerTo(text) {
  const shown = say(isChat() ? "assistant" : "", ""), speed = new Speed(), answer = new Answer(shown);
  at("counts").textContent = speed.text();
  const response = await post(...request(text), control.signal);
  if (!response.ok) throw new Error((await response.json()).error.message);
  try {
    await readEvents(response, event => {
      if (event.error) throw new Error(event.error.message);
      for (const choice of event.choices) {
        const piece = pieceOf(choice);
        if (piece.text !== "" || piece.tokens.length > 0) speed.add((choice.token_ids || piece.tokens).length || 1);
        answer.add(piece);
      }
      if (event.usage) speed.end(event.usage);
      at("counts").textContent = speed.text();
    });
  } finally {
    if (isChat()) messages.push({ role: "assistant", content: answer.text });
  }
}

async function send() {
  const text = at("prompt").value;
  control = new AbortController();
  at("run").disabled = true, at("stop").disabled = false;
  if (isChat()) messages.push({ role: "user", content: text }), at("prompt").value = "";
  if (!isChat()) at("talk").replaceChildren();
  say(isChat() ? "user" : "prompt", text);
  try {
    await answerTo(text);
  } catch (error) {
    if (error.name !== "AbortError") say("fault", error.message);
  }
  at("run").disabled = false, at("stop").disabled = true;
}

function clear() {
  messages = [];
  at("talk").replaceChildren(), at("counts").textContent = "\u00a0";
}

function changeMode() {
  clear();
  at("system_part").hidden = !isChat();
  at("run").textContent = isChat() ? "Send" : "Continue";
  at("prompt").value = isChat() ? "" : "Once upon a time";
}

// A model with a chat template makes a prompt of a conversation.
async function findModel() {
  const reply = await fetch("/v1/models", { headers: headers() });
  at("access").hidden = at("access").hidden && reply.status !== 401;
  if (!reply.ok) return;
  const name = (await reply.json()).data[0].id;
  at("model").textContent = name, document.title = name + " - smelt serve";
  const chat = await post("/tokenize", { messages: [{ role: "user", content: "Hello" }] });
  at("chat").disabled = !chat.ok, at("chat").checked = chat.ok, at("completion").checked = !chat.ok;
  at("chat").parentElement.title = chat.ok ? "" : "the model has no chat template";
  changeMode();
}

at("run").onclick = send;
at("stop").onclick = () => control.abort();
at("clear").onclick = clear;
at("key").onchange = findModel;
at("chat").onchange = at("completion").onchange = changeMode;
at("prompt").onkeydown = event => {
  if (event.key !== "Enter" || event.shiftKey || !isChat() || at("run").disabled) return;
  event.preventDefault();
  send();
};
findModel();
