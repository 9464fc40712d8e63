// Implementation of POST /v1/embeddings, /classify, /score and /rerank (text_request.h) for a model that
// reads whole texts.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/server/answer.h"
#include "compiler/server/batch_service.h"
#include "compiler/server/model_service.h"
#include "compiler/server/text_maker.h"
#include "compiler/server/token_service.h"
#include "runtime/engine/serving/class_scores.h"
#include "runtime/engine/serving/text_reply.h"

namespace smelt::server {

/// Answer to the body of one POST. The texts of the body run in the batch of the model (TextBatch), or wait.
class TextAnswer : public Answer {
 public:
  /// Converts the results of all texts to the reply's body.
  using Write = std::function<std::string(TextResults)>;

  /// `tokens`: of all texts. `most_bytes`: of memory that `write` needs.
  TextAnswer(std::shared_ptr<Mailbox> mailbox, size_t texts, size_t tokens, size_t most_bytes, Write write);

  bool collect() override;
  size_t most_bytes_of_whole() const override { return most_bytes_; }
  /// Requires: whole() was not called before.
  std::string whole() override;
  bool done() const override { return done_; }
  const CompletionUsage& usage() const override { return usage_; }
  /// Returns one element: how all texts together have ended.
  std::vector<Finish> finishes() const override;

 private:
  bool ended() const { return ended_ == results_.size(); }
  void receive(std::vector<Progress> fresh);

  TextResults results_;
  size_t ended_ = 0, most_bytes_;
  CompletionUsage usage_;
  Write write_;
  bool done_ = false;
};

/// The meaning of the results of the batch.
struct TextModel {
  bool classifies = false;
  size_t width = 0;         // numbers of a vector, or classes
  bool normalizes = false;  // vectors have length 1, unless a request says otherwise
  size_t dimensions = 0;    // numbers of a vector if a request does not say; at most `width`
  ClassScores scores = {};  // if it classifies
};

/// The service of one model that reads whole texts.
class TextService : public ModelService {
 public:
  /// `name`: the model's name for clients. The references must outlive the service. Requires: the thread
  /// `batch` runs a TextBatch.
  TextService(BatchService& batch, const cli::PromptText& texts, const TextMaker& maker, TextModel model,
              std::string name);

  void require_path(std::string_view path) const override;
  bool has_page() const override { return false; }
  std::shared_ptr<Answer> post(std::string_view path, std::string_view body) override;

 private:
  std::string tokenize(const TokenizeRequest& request) const override;
  std::string detokenize(const DetokenizeRequest& request) const override;
  void require_room(const TextRequest& request) const;
  void require_dimensions(const TextRequest& request) const;
  TextReplyHead head(const TextRequest& request, size_t tokens);
  TextAnswer::Write write_embeddings(const TextRequest& request, TextReplyHead head) const;
  TextAnswer::Write write_scores(TextRequest request, TextReplyHead head) const;

  BatchService& batch_;
  const TextMaker& maker_;
  const TextModel model_;
  const ChatSource chats_;  // none
  const TokenService tokens_;
  std::atomic<uint64_t> answers_ = 0;
};

}  // namespace smelt::server
