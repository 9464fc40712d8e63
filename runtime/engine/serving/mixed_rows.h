// Rows of pages of which a run reads any number of tokens, by the entry @mixed_pages (decode_contract.def):
// one run continues the texts of some rows and reads parts of the prompts of others.
//
// A device that captures runs (DeviceKind::captures_runs) pads a run to one of a few sizes: a run of one
// token per row to padded_size(rows), any other one to padded_size(tokens) tokens and all slots as rows.
// prepare() runs each of these sizes, so that later runs find them captured. Padding stores nothing.
// On a CPU a run has at most as many tokens as have the bits that each has alone (CacheRows::exact_rows).
#pragma once

#include "runtime/engine/serving/choosing_rows.h"

namespace smelt {

class MixedRows : public ChoosingRows {
 public:
  MixedRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);
  size_t mixed_tokens() const override { return run_tokens_; }
  void prepare() override;

 protected:
  size_t add_tokens(RunInputs& inputs, std::span<const RowStep> steps) override;
  int32_t slot_of(const RowStep& step) const override {
    return step.sampling == Sampling::plan ? ChoosingRows::slot_of(step) : -1;
  }

 private:
  /// Numbers of rows and of tokens of a run.
  struct Size {
    size_t rows, tokens;
  };
  Size padded(Size own) const;
  std::vector<Size> sizes() const;

  size_t run_tokens_;
  Size padding_ = {};  // size of a run without steps
};

}  // namespace smelt
