#include "runtime/structured/token_masks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

// Repeating texts are computed for states that are visited often, and used where they save many nodes.
constexpr uint16_t kRareVisits = 40;
constexpr uint32_t kFewNodes = 4;
constexpr uint8_t kShortTexts[] = {2, 4, 6, 8, 12, 16, 24};  // longest texts in bytes of the short states
// Covers are used for sets of at least this many ASCII characters, and for texts of at least this length.
constexpr int kManyCharacters = 32;
constexpr uint8_t kShortestCover = 8;

struct Group {
  Stack stack;
  std::vector<Reader> readers;
};

std::vector<Group> groups_of(const Matcher& matcher) {
  std::vector<Group> groups;
  for (const Configuration& c : matcher.configurations()) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.stack == c.stack; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{c.stack, {}});
    group->readers.push_back({c.state, c.count});
  }
  return groups;
}

ByteSet follow_of(const Automaton& automaton, const Group& group) {
  ByteSet follow;
  for (const Reader& reader : group.readers)
    follow |= automaton.rules[automaton.states[reader.state].rule].follow;
  return follow;
}

bool is_subset(const std::array<uint64_t, 2>& a, const std::array<uint64_t, 2>& b) {
  return (a[0] & ~b[0]) == 0 && (a[1] & ~b[1]) == 0;
}

void allow(std::span<uint64_t> allowed, uint32_t token) { allowed[token / 64] |= uint64_t{1} << token % 64; }

}  // namespace

TokenMasks::TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
                       std::vector<uint32_t> end_tokens, size_t cache_bytes,
                       std::shared_ptr<TokenCovers> covers)
    : automaton_(std::move(automaton)),
      trie_(std::move(trie)),
      end_tokens_(std::move(end_tokens)),
      covers_(covers ? std::move(covers) : std::make_shared<TokenCovers>(trie_)),
      cache_bytes_(cache_bytes),
      states_(automaton_, trie_->longest),
      path_(trie_->longest + 1) {
  if (!automaton_->loops.empty())
    for (const uint8_t longest : kShortTexts)
      short_states_.push_back({RelativeStates(automaton_, longest), {}});
  for (const uint32_t token : end_tokens_)
    if (token >= trie_->vocabulary)
      fail("structured output: the end token {} is not in the vocabulary of {} tokens", token,
           trie_->vocabulary);
}

void TokenMasks::mask(const Matcher& matcher, std::span<uint64_t> allowed) {
  if (allowed.size() != words())
    fail("structured output: the mask has {} words, expected {} for {} tokens", allowed.size(), words(),
         trie_->vocabulary);
  std::fill(allowed.begin(), allowed.end(), 0);
  bound_cache();
  allow_groups(matcher, allowed);
  if (is_near_bound(matcher)) mask_near_bound(matcher, allowed);
  if (matcher.can_end())
    for (const uint32_t token : end_tokens_) allow(allowed, token);
}

size_t TokenMasks::memory() const {
  size_t bytes = cached_bytes_ + states_.memory() + visits_.size() * sizeof(visits_[0]);
  for (const ShortStates& near : short_states_)
    bytes += near.states.memory() + near.repeating.size() * sizeof(near.repeating[0]);
  return bytes;
}

void TokenMasks::bound_cache() {
  if (memory() <= cache_bytes_) return;
  for (ShortStates& near : short_states_) near.states.clear(), near.repeating.clear();
  entries_.clear();
  visits_.clear();
  states_.clear();
  cached_bytes_ = 0;
}

void TokenMasks::allow_groups(const Matcher& matcher, std::span<uint64_t> allowed) {
  for (Group& group : groups_of(matcher)) {
    const ByteSet follow = follow_of(*automaton_, group);
    const Entry& entry = entry_of(states_.state_of(std::move(group.readers)), follow);
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] |= entry.allowed[i];
    if (group.stack.top && !entry.exits.empty())
      allow_after(matcher.after_return(group.stack), entry.exits, allowed);
  }
}

const TokenMasks::Entry& TokenMasks::entry_of(uint32_t state, const ByteSet& follow) {
  const auto [at, is_new] = entries_.try_emplace(state);
  Entry& entry = at->second;
  if (is_new) try {
      entry.allowed.resize(words());
      Walk whole{entry.allowed, entry.exits, follow};
      walk_all(state, whole);
      cached_bytes_ += entry.allowed.size() * 8 + entry.exits.size() * 4 + 100;
    } catch (...) {
      entries_.erase(state);
      throw;
    }
  return entry;
}

/// Continues at the nodes of the trie where a rule has ended, with the configurations after its return. Each
/// level of the recursion is deeper in the trie.
void TokenMasks::allow_after(const Matcher& matcher, const std::vector<uint32_t>& exits,
                             std::span<uint64_t> allowed) {
  for (Group& group : groups_of(matcher)) {
    const ByteSet follow = follow_of(*automaton_, group);
    const uint32_t state = states_.state_of(std::move(group.readers));
    std::vector<uint32_t> deeper;
    Walk rest{allowed, deeper, follow};
    for (const uint32_t node : exits) walk(node, state, rest);
    if (group.stack.top && !deeper.empty()) allow_after(matcher.after_return(group.stack), deeper, allowed);
  }
}

/// Allows the tokens that the automaton accepts from `state` on, and collects the exits.
void TokenMasks::walk_all(uint32_t state, Walk& all) {
  const auto cover = cover_of(state, all.follow);
  if (!cover) return walk(0, state, all);
  for (size_t i = 0; i < all.allowed.size(); ++i) all.allowed[i] |= cover->mask[i];
  walk_others(*cover, state, all);
}

/// Does the same for the tokens below a node.
void TokenMasks::walk(uint32_t node, uint32_t state, Walk& walk) {
  const std::vector<TrieNode>& nodes = trie_->nodes;
  path_[nodes[node].depth] = state;
  for (uint32_t i = node + 1, end = nodes[node].end; i < end;) i = visit(i, walk) ? nodes[i].end : i + 1;
}

/// Does the same for the tokens that a cover does not have.
void TokenMasks::walk_others(const TokenCover& cover, uint32_t state, Walk& walk) {
  path_[0] = state;
  for (uint32_t k = 0; k < cover.nodes.size();) k = visit(cover.nodes[k], walk) ? cover.skips[k] : k + 1;
}

/// Allows the tokens at a node, if the automaton accepts them. Returns whether the nodes below are done: none
/// or all of their tokens are allowed.
bool TokenMasks::visit(uint32_t node, Walk& walk) {
  const TrieNode& at = trie_->nodes[node];
  const uint32_t after = states_.next(path_[at.depth - 1u], at.byte);
  if (after == RelativeStates::kDead) return true;
  path_[at.depth] = after;
  bool is_done = false;
  if (at.end > node + 1) {
    if (states_.ends(after) && exit_matters(node, walk.follow)) walk.exits.push_back(node);
    is_done = at.below != BytesBelow::other && allows_all_below(node, after, walk.follow);
  }
  allow_tokens(node, is_done ? at.end : node + 1, walk.allowed);
  return is_done;
}

/// Returns the cover of the texts that repeat a state; null if there are few. The end of the base's rule has
/// no effect where nothing follows it, so the state is also examined as one that can end.
std::shared_ptr<const TokenCover> TokenMasks::cover_of(uint32_t state, const ByteSet& follow) {
  if (auto cover = cover_of_repeating(state)) return cover;
  const std::vector<Reader> readers = states_.readers(state);
  return follow.none() && !readers.empty() ? cover_of_repeating(states_.state_of(readers, true)) : nullptr;
}

std::shared_ptr<const TokenCover> TokenMasks::cover_of_repeating(uint32_t state) {
  const auto is_large = [](const Repeating& set) {
    return set.all_others && std::popcount(set.ascii[0]) + std::popcount(set.ascii[1]) >= kManyCharacters;
  };
  if (const Repeating& set = states_.repeating(state); is_large(set))
    return covers_->get(set, trie_->longest);
  for (size_t i = short_states_.size(); i > 0; --i) {
    const uint8_t longest = kShortTexts[i - 1];
    if (longest < kShortestCover) break;
    const Repeating& set = short_states_[i - 1].of(states_, state);
    if (is_large(set)) return covers_->get(set, longest);
  }
  return nullptr;
}

bool TokenMasks::repeats(uint32_t node, const Repeating& repeating) const {
  const bool is_known = trie_->nodes[node].below == BytesBelow::ascii || repeating.all_others;
  return is_known && is_subset(trie_->bytes_below[node], repeating.ascii);
}

const Repeating& TokenMasks::ShortStates::of(RelativeStates& whole, uint32_t state) {
  if (state >= repeating.size()) repeating.resize(whole.states());
  if (!repeating[state])
    repeating[state] = states.repeating(states.state_of(whole.readers(state), whole.ends(state)));
  return *repeating[state];
}

/// Returns true only if all texts from a node to the nodes below are accepted, and exits at these do not
/// matter.
bool TokenMasks::allows_all_below(uint32_t node, uint32_t state, const ByteSet& follow) {
  if (trie_->nodes[node].end - node < kFewNodes || (states_.ends(state) && follow.any())) return false;
  if (state >= visits_.size()) visits_.resize(states_.states());
  if (visits_[state] < kRareVisits) return ++visits_[state], false;
  if (repeats(node, states_.repeating(state))) return true;
  for (size_t i = 0; i < short_states_.size(); ++i) {
    if (trie_->nodes[node].height > kShortTexts[i]) continue;
    return repeats(node, short_states_[i].of(states_, state));
  }
  return false;
}

void TokenMasks::allow_tokens(uint32_t first_node, uint32_t end_node, std::span<uint64_t> allowed) const {
  for (uint32_t t = trie_->nodes[first_node].first_token, end = trie_->nodes[end_node].first_token; t < end;
       ++t)
    allow(allowed, trie_->tokens[t]);
}

bool TokenMasks::exit_matters(uint32_t node, const ByteSet& follow) const {
  for (uint32_t child = node + 1; child < trie_->nodes[node].end; child = trie_->nodes[child].end)
    if (follow[trie_->nodes[child].byte]) return true;
  return false;
}

/// Relative states do not count the frames below their base, so near the bound some would have to be dropped.
bool TokenMasks::is_near_bound(const Matcher& matcher) const {
  uint64_t deepest = 0;
  for (const Configuration& c : matcher.configurations())
    if (c.stack.top) deepest = std::max<uint64_t>(deepest, c.stack.top->depth);
  return deepest + states_.deepest_frame() + automaton_->largest_need > kDeepestStack;
}

void TokenMasks::mask_near_bound(const Matcher& matcher, std::span<uint64_t> allowed) const {
  const std::vector<TrieNode>& nodes = trie_->nodes;
  std::fill(allowed.begin(), allowed.end(), 0);
  std::vector<Matcher> path(trie_->longest + 1, matcher);
  for (uint32_t i = 1; i < trie_->count();) {
    Matcher next = path[nodes[i].depth - 1u];
    const char byte = static_cast<char>(nodes[i].byte);
    if (!next.advance({&byte, 1})) {
      i = nodes[i].end;
      continue;
    }
    allow_tokens(i, i + 1, allowed);
    path[nodes[i].depth] = std::move(next);
    ++i;
  }
}

void mask_by_tokens(const Matcher& matcher, const std::vector<std::string>& vocabulary,
                    std::span<uint64_t> allowed) {
  std::fill(allowed.begin(), allowed.end(), 0);
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    Matcher next = matcher;
    if (!vocabulary[id].empty() && next.advance(vocabulary[id])) allow(allowed, id);
  }
}

}  // namespace smelt::structured
