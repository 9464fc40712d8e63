// Limits of the time and memory of one rendering of a template, and the counters that enforce them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/templates/template_error.h"

namespace smelt::templates {

/// Limits that keep an untrusted template from using much time, memory or stack.
struct RenderLimits {
  /// Limit of the work, in steps. An operation counts one step per 64 bytes of text, or per element of a
  /// list, that it processes. The limit bounds the memory too, because all values of a rendering have at most
  /// 64 bytes per step.
  uint64_t steps = 20'000'000;
  size_t bytes = 16u << 20;  // limit of the length of the output, and of every text
  int depth = 1200;  // limit of nesting: expressions, statements, calls of macros, and values inside values
};

/// The limits of one rendering, and the steps that it has not spent yet.
class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits), steps_(limits.steps) {}

  /// Subtracts steps. Throws TemplateError (limit) if not enough are left.
  void spend(uint64_t steps) {
    if (steps > steps_) {
      fault(Fault::limit, "the template takes more than {} steps (RenderLimits::steps)", limits_.steps);
    }
    steps_ -= steps;
  }
  /// Spends the steps for a text of this size. Throws TemplateError (limit) if the text is too long.
  void spend_text(uint64_t bytes) {
    if (bytes > limits_.bytes) {
      fault(Fault::limit, "a text has more than {} bytes (RenderLimits::bytes)", limits_.bytes);
    }
    spend(1 + bytes / 64);
  }
  const RenderLimits& limits() const { return limits_; }

 private:
  friend class Nesting;
  RenderLimits limits_;
  uint64_t steps_;
  int depth_ = 0;
};

/// One level of nesting, counted from construction to destruction of this object. The constructor throws
/// TemplateError (limit) if there are too many levels.
class Nesting {
 public:
  explicit Nesting(Budget& budget) : budget_(budget) {
    if (budget.depth_ >= budget.limits_.depth) {
      fault(Fault::limit, "nesting is deeper than {} levels (RenderLimits::depth)", budget.limits_.depth);
    }
    ++budget.depth_;
  }
  ~Nesting() { --budget_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Budget& budget_;
};

/// A text that is built by appending. append() checks the limit of length and spends steps before it
/// allocates memory.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(budget) {}
  void append(std::string_view text) {
    if (text.size() + text_.size() > budget_.limits().bytes) budget_.spend_text(text.size() + text_.size());
    budget_.spend(text.size() / 64);
    text_ += text;
  }
  void append(std::string_view text, uint64_t times) {
    if (text.empty()) return;
    if (times > budget_.limits().bytes / text.size()) budget_.spend_text(budget_.limits().bytes + 1);
    budget_.spend(text.size() * times / 64);
    while (times-- > 0) text_ += text;
  }
  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }
  Budget& budget() { return budget_; }

 private:
  Budget& budget_;
  std::string text_;
};

}  // namespace smelt::templates
