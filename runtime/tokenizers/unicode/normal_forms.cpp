#include "runtime/tokenizers/unicode/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <optional>

#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

/// A code point on its way from the text before to the text after; `change` as for TextEdit.
struct Moving {
  char32_t value;
  int change;
  int combining = 0;
};

int combining_class(char32_t c) {
  return is(c, kCombines) ? utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class : 0;
}

/// Calls put(code point, is it the first) for the full decomposition.
template <typename Put>
void decompose(char32_t c, bool compatibly, Put put) {
  if (!is(c, compatibly ? kDecomposesCompatibly : kDecomposes)) return put(c, true);
  utf8proc_int32_t parts[32];
  int boundary = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatibly ? UTF8PROC_COMPAT : 0);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, std::size(parts),
                                             static_cast<utf8proc_option_t>(options), &boundary);
  for (utf8proc_ssize_t i = 0; i < count; ++i) put(static_cast<char32_t>(parts[i]), i == 0);
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (second < 0x300) return std::nullopt;  // Latin-1 and its extensions compose with nothing before them
  utf8proc_int32_t pair[] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto count =
      utf8proc_normalize_utf32(pair, 2, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const auto composed = static_cast<char32_t>(pair[0]);
  if (count != 1 || !is(composed, kDecomposes)) return std::nullopt;
  return composed;
}

/// Joins code points to the last starter before them, as far as nothing blocks them.
class Composer {
 public:
  explicit Composer(TextEdit& edit) : edit_(edit) {}

  void put(const Moving& next) {
    if (!starter_) {
      if (next.combining != 0) return edit_.put(next.value, next.change);
      starter_ = next;
      return;
    }
    const bool blocked = !marks_.empty() && marks_.back().combining >= next.combining;
    if (!blocked) {
      if (const auto composed = compose(starter_->value, next.value)) {
        starter_->value = *composed;
        starter_->change += next.change - 1;
        return;
      }
    }
    if (next.combining == 0) {
      flush();
      starter_ = next;
    } else {
      marks_.push_back(next);
    }
  }

  void flush() {
    if (starter_) edit_.put(starter_->value, starter_->change);
    for (const Moving& mark : marks_) edit_.put(mark.value, mark.change);
    starter_.reset();
    marks_.clear();
  }

 private:
  TextEdit& edit_;
  std::optional<Moving> starter_;
  std::vector<Moving> marks_;
};

/// Marks after a starter, in the order of their classes.
class Orderer {
 public:
  template <typename Put>
  void add(const Moving& next, Put put) {
    if (next.combining == 0) {
      flush(put);
      put(next);
    } else {
      marks_.push_back(next);
    }
  }

  template <typename Put>
  void flush(Put put) {
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Moving& a, const Moving& b) { return a.combining < b.combining; });
    for (const Moving& mark : marks_) put(mark);
    marks_.clear();
  }

 private:
  std::vector<Moving> marks_;
};

template <typename Put>
void each_ordered(const std::string& bytes, bool compatibly, Put put) {
  Orderer orderer;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = code_point_at(bytes, at);
    at += c.bytes;
    decompose(c.value, compatibly, [&](char32_t part, bool first) {
      orderer.add({part, first ? 0 : 1, combining_class(part)}, put);
    });
  }
  orderer.flush(put);
}

}  // namespace

void normalize_form(AlignedText& text, NormalForm form) {
  if (is_ascii(text.bytes)) return;
  const bool compatibly = form == NormalForm::nfkc || form == NormalForm::nfkd;
  TextEdit edit(text);
  if (form == NormalForm::nfd || form == NormalForm::nfkd) {
    each_ordered(text.bytes, compatibly, [&](const Moving& next) { edit.put(next.value, next.change); });
  } else {
    Composer composer(edit);
    each_ordered(text.bytes, compatibly, [&](const Moving& next) { composer.put(next); });
    composer.flush();
  }
  edit.finish();
}

}  // namespace smelt
