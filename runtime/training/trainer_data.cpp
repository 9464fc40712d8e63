// What a trainer trains on.
#include "runtime/system/file.h"
#include "runtime/training/trainer.h"

namespace smelt {

BatchOptions Trainer::batch_options() const {
  return {.batch = options_.batch,
          .length = options_.length,
          .micro_steps = options_.gradient_accumulation * ranks_.data_ranks(),
          .seed = static_cast<uint32_t>(options_.seed)};
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
