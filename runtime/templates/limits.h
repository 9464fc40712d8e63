// Limits of the work of one rendering, and the account of what is left of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/templates/template_error.h"

namespace smelt::templates {

/// Limits that keep an untrusted template from using much time, memory or stack.
struct RenderLimits {
  /// Operations. An operation on text counts one step per 64 bytes, an operation on a list one step per
  /// element. The limit bounds the memory too: all values of a rendering have at most 64 bytes per step.
  uint64_t steps = 20'000'000;
  size_t bytes = 16u << 20;  // of the output, and of every text
  int depth = 1200;          // nested expressions, statements, calls of macros, and values inside values
};

class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits), steps_(limits.steps) {}

  void spend(uint64_t steps) {
    if (steps > steps_) {
      fault(Fault::limit, "the template takes more than {} steps (RenderLimits::steps)", limits_.steps);
    }
    steps_ -= steps;
  }
  /// Spends the steps for text of this size. Throws TemplateError if the text is too long.
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

/// Counts a level of nesting while it exists.
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

/// Text under construction; its size counts before the memory is used.
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
