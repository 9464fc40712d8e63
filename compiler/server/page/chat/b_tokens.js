// Tokens of an answer on the page, and the table that shows the probabilities of the token under the pointer.

const at = id => document.getElementById(id);
const tokensOf = new WeakMap();  // element of class "token" -> tokens in it

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className, made.textContent = text;
  return made;
}

// Appends pieces to an element. A character of several bytes may need several tokens: those without a text of their own
// wait for the token that completes the text.
class Answer {
  constructor(parent) { this.parent = parent, this.waiting = [], this.text = ""; }
  add(piece) {
    this.waiting.push(...piece.tokens);
    if (piece.text === "") return;
    this.text += piece.text;
    const tokens = this.waiting;
    this.waiting = [];
    const one_each = tokens.map(token => token.text).join("") === piece.text;
    for (const part of one_each ? tokens.map(token => [token]) : [tokens])
      this.append(one_each ? part[0].text : piece.text, part);
  }
  append(text, tokens) {
    if (tokens.length === 0) return this.parent.append(text);
    const shown = element("span", "token", text);
    shown.style.setProperty("--probability", tokens.reduce((product, token) => product * token.probability, 1));
    tokensOf.set(shown, tokens);
    this.parent.append(shown);
  }
}

const percent = probability => (100 * probability).toFixed(probability < 0.1 ? 2 : 1) + "%";

function tipRow(token, isSampled) {
  const row = element("tr", isSampled ? "sampled" : "", "");
  row.append(element("td", "", JSON.stringify(token.text)), element("td", "", percent(token.probability)));
  return row;
}

// The most probable tokens; the sampled one is bold, and comes last if it is not among them.
function tipRows(token) {
  const isSampled = other => other.bytes === token.bytes;
  const rows = token.best.map(other => tipRow(other, isSampled(other)));
  if (!token.best.some(isSampled)) rows.push(tipRow(token, true));
  return rows;
}

function showTip(shown) {
  const tip = at("tip"), place = shown.getClientRects()[0];
  tip.replaceChildren(...tokensOf.get(shown).flatMap(tipRows));
  tip.hidden = false;
  const left = Math.min(place.left, innerWidth - tip.offsetWidth - 8);
  const below = place.bottom + 4, above = place.top - tip.offsetHeight - 4;
  tip.style.left = Math.max(left, 8) + "px";
  tip.style.top = (below + tip.offsetHeight > innerHeight && above > 0 ? above : below) + "px";
}

document.addEventListener("pointerover", event => {
  if (tokensOf.has(event.target)) showTip(event.target);
  else at("tip").hidden = true;
});
document.addEventListener("scroll", () => { at("tip").hidden = true; });
