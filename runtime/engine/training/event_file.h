// Event files of TensorBoard, written without its library. A file is a sequence of TFRecords, and each record
// is an Event in the wire format of protocol buffers (tensorboard/compat/proto/event.proto and summary.proto
// in TensorBoard's repository).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/engine/training/metrics.h"

namespace smelt {

/// Returns the CRC-32C (Castagnoli polynomial) of the bytes, which TFRecords store in a masked form.
uint32_t crc32c(std::string_view bytes);

class EventFile {
 public:
  /// Creates a file with a new name, "events.out.tfevents.<seconds>.<host>.<process>.<number>", in the
  /// directory, and the directory if it does not exist. `first_step`: events of later steps in other files of
  /// the directory are void, as after a run that is resumed there. Throws Error (io) if the file cannot be
  /// created.
  EventFile(const std::filesystem::path& directory, int64_t first_step);

  /// Add a number or a text of a step. The functions throw Error (io) if they cannot write.
  void add_scalar(int64_t step, std::string_view tag, double value);
  void add_text(int64_t step, std::string_view tag, std::string_view text);
  /// Makes what was added visible to readers.
  void flush();

 private:
  void add_event(int64_t step, std::string_view fields);
  void add_record(std::string_view event);

  std::ofstream out_;
};

/// Observer that writes an event file: the scalars train/loss, train/learning_rate, train/grad_norm,
/// train/tokens_per_second and train/peak_bytes, eval/loss, eval/METRIC, and the text sample. Numbers that
/// are not known are left out.
class EventFileObserver : public TrainerObserver {
 public:
  /// `directory`: that of the files, which is used from started() on.
  explicit EventFileObserver(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void started(int64_t first_step, int64_t steps) override;
  void stepped(const StepRecord& record) override;
  void evaluated(const EvaluationRecord& record) override;
  void sampled(int64_t step, std::string_view text) override;

 private:
  std::filesystem::path directory_;
  std::optional<EventFile> file_;
};

}  // namespace smelt
