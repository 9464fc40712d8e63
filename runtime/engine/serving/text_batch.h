// TextBatch: a batch of texts that the model reads as a whole, such as those of an encoder. The result of a
// text is one vector: its embedding (sentence_modules.h), or the scores of its classes.
//
// Texts of all requests wait together. A step runs the model once on some of them: the text that has waited
// longest, and texts of about the same length, so that little is padded. A run has at most `step_tokens`
// tokens, padding included. If the plan has no input attention_mask, all texts of a run have the same length.
//
// A device that captures runs (DeviceKind::captures_runs) pads a run to one of a few sizes: lengths and
// numbers of rows are powers of two, or the largest ones of the plan. prepare() runs each of these sizes, so
// that later runs find them captured.
//
// The result of a text may differ in its last bits from that of the text alone: kernels of matrix products
// are chosen by the number of tokens of a run, and may add in another order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/serving/request_batch.h"
#include "runtime/engine/serving/sentence_modules.h"
#include "runtime/session/session.h"

namespace smelt {

struct TextBatchOptions {
  size_t step_tokens = 0;        // most tokens of a run; 0: as many as the plan supports
  size_t most_waiting = 64;      // texts that wait or run; others are refused
  size_t most_tokens = 0;        // longest text; 0: as many tokens as the plan supports
  int32_t padding = 0;           // token id of padding
  SentenceModules modules = {};  // from hidden states to vectors; has no effect on scores of classes
  bool prepares = false;         // the constructor calls prepare()
};

class TextBatch : public RequestBatch {
 public:
  /// Requires: the plan has an entry "logits". Its input is the i32 tensor input_ids [rows,length]. Its
  /// output is f32: the hidden states last_hidden_state [rows,length,size], or the scores of classes, logits
  /// [rows,classes]. Throws Error if this is not so, if the entry needs other inputs, or if a run of
  /// `options.step_tokens` tokens has no room for the longest text.
  TextBatch(Session& session, const TextBatchOptions& options);

  /// Returns whether the results are scores of classes.
  bool classifies() const { return classifies_; }
  size_t width() const { return width_; }  // numbers of a result
  int64_t vocabulary() const override { return vocabulary_; }
  size_t capacity() const override { return capacity_; }
  void check(const Request& request) const override;
  size_t most_requests() const override { return options_.most_waiting; }
  void require_room(size_t requests) const override;
  Id submit(Request request) override;
  bool step() override;
  bool idle() const override { return waiting_.empty(); }
  Progress poll(Id id) override;
  void cancel(Id id) override;
  ContinuousBatchCounts counts() const override;

 private:
  struct Text {
    Request request;
    Id id = 0;
    Progress progress = {};
    size_t length() const { return request.prompt.size(); }
  };
  using TextPointer = std::shared_ptr<Text>;
  /// Numbers of rows and of tokens per row of a run, padding included.
  struct Size {
    size_t rows = 0, length = 0;
  };

  void find_ports();
  void check_inputs() const;
  size_t most_rows(size_t length) const;
  size_t padded_length(size_t length) const;
  Size padded(Size size) const;
  std::vector<Size> sizes() const;
  void prepare();
  bool may_share(std::span<const TextPointer> sorted, size_t tokens) const;
  std::vector<TextPointer> next_run() const;
  void run(const std::vector<TextPointer>& texts, Size size);
  void execute(Size size);
  void fill_inputs(const std::vector<TextPointer>& texts, Size size);
  std::vector<float> result_of(const Text& text, size_t row, Size size) const;
  void end(Text& text, Finish finish, const std::string& error = "");

  Session& session_;
  TextBatchOptions options_;
  bool classifies_ = false, has_mask_ = false, has_types_ = false, pads_runs_ = false;
  size_t width_ = 0, state_size_ = 0, capacity_ = 0;
  int64_t vocabulary_ = 0;
  std::string output_, rows_symbol_, length_symbol_;
  std::optional<IdRange> ids_, types_range_;  // valid token ids and types
  std::vector<TextPointer> waiting_;          // in the order in which they came
  std::map<Id, TextPointer> known_;           // all whose end has not been reported
  Id next_ = 1;
  ContinuousBatchCounts counts_;
  std::vector<int32_t> inputs_, mask_, types_;  // of the current run, [rows,length]
  std::vector<float> outputs_;                  // of the current run
};

}  // namespace smelt
