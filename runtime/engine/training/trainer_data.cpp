// Data of a trainer.
#include "runtime/engine/training/trainer.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

int64_t size_of_part(const DataPart& part) {
  return std::visit([](const auto& range) { return range.size(); }, part);
}

BatchOptions batch_options_of(const TrainerOptions& options) {
  return {.batch = options.batch,
          .length = options.length,
          .micro_steps = options.gradient_accumulation * options.data_ranks,
          .seed = static_cast<uint32_t>(options.seed),
          .from = {options.data_step, options.data_epoch, options.data_record}};
}

/// Windows are drawn: those of a step do not depend on the steps before it.
bool has_place(const DataPart& part) { return !std::holds_alternative<TokenRange>(part); }

/// "4096 tokens, checksum 0123456789abcdef": whatever the files are called.
template <typename Data>
std::string fingerprint_of(const Part<Data>& range) {
  return fmt::format("{} {}, checksum {}", range.data->size(), range.data->kItems, range.data->fingerprint());
}

/// Rows are packed of data whose fingerprint is taken before.
std::string fingerprint_of(const PackedRange& range) {
  return fmt::format("{} packed rows", range.data->size());
}

/// Both parts are of the same data, or the second is of none.
template <typename Data>
bool share_data(const Part<Data>& range, const DataPart& other) {
  const auto* part = std::get_if<Part<Data>>(&other);
  return part && (!part->data || part->data == range.data);
}

/// Fields whose change makes the resumed run another one than the uninterrupted.
std::string changed_options(TrainerOptions then, TrainerOptions now) {
  std::string changed;
  const auto compare = [&](const char* name, auto member) {
    if (then.*member != now.*member) changed += fmt::format("{}{}", changed.empty() ? "" : ", ", name);
  };
  compare("seed", &TrainerOptions::seed);
  compare("steps", &TrainerOptions::steps);
  compare("epochs", &TrainerOptions::epochs);
  compare("batch", &TrainerOptions::batch);
  compare("length", &TrainerOptions::length);
  compare("pack", &TrainerOptions::pack);
  compare("document_end", &TrainerOptions::document_end);
  compare("learning_rate", &TrainerOptions::learning_rate);
  compare("min_learning_rate", &TrainerOptions::min_learning_rate);
  compare("schedule", &TrainerOptions::schedule);
  compare("schedule_power", &TrainerOptions::schedule_power);
  compare("schedule_cycles", &TrainerOptions::schedule_cycles);
  compare("schedule_decay", &TrainerOptions::schedule_decay);
  compare("warmup_steps", &TrainerOptions::warmup_steps);
  then.gradient_accumulation *= then.data_ranks, now.gradient_accumulation *= now.data_ranks;
  compare("gradient_accumulation (times ranks)", &TrainerOptions::gradient_accumulation);
  compare("overfit_one_batch", &TrainerOptions::overfit_one_batch);
  return changed;
}

}  // namespace

BatchOptions Trainer::batch_options() const { return batch_options_of(options_); }

std::string Trainer::fingerprint() const {
  const auto of = [](const auto& range) { return fingerprint_of(range); };
  const bool shared =
      std::visit([&](const auto& range) { return share_data(range, data_.held_back); }, data_.train);
  const int64_t held_back = size_of_part(data_.held_back);
  return std::visit(of, data_.train) + (shared
                                            ? fmt::format(", {} of them held back", held_back)
                                            : fmt::format("; held back {}", std::visit(of, data_.held_back)));
}

void Trainer::go_on_in_data(const TrainerOptions& before, int64_t step) {
  StreamPlace place = {before.data_step, before.data_epoch, before.data_record};
  const BatchOptions then = batch_options_of(before), now = batch_options_of(options_);
  if (then.batch != now.batch || then.micro_steps != now.micro_steps)
    place = place_at(step, size_of_part(data_.train), then);
  if (options_.overfit_one_batch || !has_place(data_.train)) place = {};
  options_.data_step = place.step, options_.data_epoch = place.epoch, options_.data_record = place.record;
  stream_ = make_stream(data_.train, batch_options());
  set_steps();
}

void Trainer::set_steps() {
  if (options_.epochs > 0) options_.steps = steps_of_epochs(data_.train, options_.epochs, batch_options());
  schedule_ = options_.rate();
  schedule_.validate();
}

/// Data are distinguished by their contents, not by their paths.
void Trainer::tell_changes(const TrainerOptions& before, int64_t step) const {
  if (const std::string changed = changed_options(before, options_); !changed.empty())
    tell([&](TrainerObserver& o) {
      o.message(fmt::format("resumed at step {} with other values of: {}; the run goes on with the new ones",
                            step, changed));
    });
  if (!before.data.empty() && !options_.data.empty() && before.data != options_.data)
    tell([&](TrainerObserver& o) {
      o.warned(fmt::format("resumed at step {} with other data: {}, in place of {}", step, options_.data,
                           before.data));
    });
}

void Trainer::pack_data() {
  const PlanEntry& entry = session_.entry(fed_entry(session_.plan(), options_));
  const PackOptions packing = pack_options(entry, options_.length, options_.document_end);
  data_ = {pack(data_.train, packing), pack(data_.held_back, packing)};
}

std::string Trainer::describe_data() const {
  const auto count = [](const auto& range) { return range.size(); };
  Batch batch;
  stream_->fill(0, 0, batch);
  Checksum sum;
  for (const InputTensor& input : batch.inputs())
    sum.add({static_cast<const std::byte*>(input.data),
             static_cast<size_t>(count_elements(input.shape) * size_of(input.dtype))});
  return fmt::format("{} to train on, {} held back, {}", std::visit(count, data_.train),
                     std::visit(count, data_.held_back), sum.hex());
}

void Trainer::tell_packing() const {
  const auto say = [&](const char* what, const DataPart& part) {
    const auto* rows = std::get_if<PackedRange>(&part);
    if (!rows || rows->size() == 0) return;
    tell([&](TrainerObserver& o) { o.message(fmt::format("{}: {}", what, rows->data->summary())); });
  };
  say("packed", data_.train);
  say("packed, held back", data_.held_back);
}

}  // namespace smelt
