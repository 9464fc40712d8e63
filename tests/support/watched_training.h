// Random training text, and an observer of a trainer that records its losses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/training/trainer.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::test {

/// Returns 900 random tokens with ids below 23 for a vocabulary of 24 tokens. A fifth of them is held out for
/// evaluation.
inline TokenSplit random_text(const TemporaryDirectory& d) {
  std::string text;
  uint32_t state = 7;
  for (int i = 0; i < 900; ++i) {
    state = state * 1664525u + 1013904223u;
    text += static_cast<char>((state >> 24) % 23);
  }
  return split<TokenData>(
      std::make_shared<const TokenData>(std::vector{d.write("text", text)}, TokenFormat::bytes, 24), nullptr,
      0.2);
}

/// Observer that records the loss and the gradient norm of each update, and the held-out loss of each
/// evaluation.
struct WatchedTraining : TrainerObserver {
  std::vector<double> losses, norms, held_back;
  void stepped(const StepRecord& r) override { losses.push_back(r.loss), norms.push_back(r.gradient_norm); }
  void evaluated(const EvaluationRecord& r) override { held_back.push_back(r.loss); }
};

}  // namespace smelt::test
