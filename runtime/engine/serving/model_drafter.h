// ModelDrafter: drafts by a model of the same vocabulary, which is smaller than the model that checks them.
// Each text has a row in the drafting model's caches. Before a draft, the row reads the tokens of the text
// that it has not read. Then each run reads the last token of each draft, and the host samples the next one
// with the options of the request and the random number of the token's position. So a drafting model with the
// same logits drafts exactly the tokens that the other model samples.
//
// If tokens of a draft were not kept, the row forgets them: the next run writes over their keys and values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/drafter.h"

namespace smelt {

class ModelDrafter : public Drafter {
 public:
  /// `session` has the drafting model, whose plan must have runs of several tokens per row (@mixed_pages or
  /// @tiled_pages). It must outlive the object, and nothing else may run it. `vocabulary` is that of the
  /// model that checks the drafts. Throws Error if the plan has no such runs or another vocabulary.
  ModelDrafter(Session& session, int64_t vocabulary, bool shares_prefixes);

  /// A call makes one run for tokens of texts that were not read, and one for each further token of the
  /// longest draft. A text gets no draft while its tokens are not all read, and if the caches have no room
  /// for it.
  void draft(std::span<DraftText> texts, size_t left) override;
  DraftLength first_length() const override;
  int64_t cache_bytes() const override { return cache_bytes_; }
  void prepare() override { rows_->prepare(); }
  void forget() override;

 private:
  /// A text's row of the caches.
  struct Row {
    size_t row = 0, longest = 0;     // index in the caches; most tokens that it may have
    std::vector<int32_t> read = {};  // tokens whose keys and values the caches have
  };
  /// A text with a row, and its draft as it grows.
  struct Growing {
    DraftText* text;
    Row* row;
    size_t most;                  // tokens of the draft
    std::vector<int32_t> tokens;  // of the text and of its draft
    std::optional<structured::ConstrainedText> constrained = {};
    bool is_open = true;  // whether the draft may grow
    size_t unread() const { return tokens.size() - row->read.size(); }
    bool grows() const { return is_open && text->draft.size() < most; }
  };

  void end_missing(std::span<const DraftText> texts);
  Row* row_of(const DraftText& text);
  std::vector<Growing> begin(std::span<DraftText> texts, size_t left);
  static size_t length_of_draft(const DraftText& text, const Row& row, size_t share);
  std::vector<Growing*> catching_up(std::vector<Growing>& all) const;
  void catch_up(std::vector<Growing>& all);
  void run(std::vector<std::pair<Growing*, size_t>> reads);
  void take(Growing& growing, std::span<const float> logits) const;
  static int32_t choose(Growing& growing, std::span<const float> logits);

  std::unique_ptr<CacheRows> rows_;
  std::map<uint64_t, Row> known_;  // by DraftText::number
  std::vector<size_t> free_;       // rows without a text
  int64_t cache_bytes_ = 0;
};

}  // namespace smelt
