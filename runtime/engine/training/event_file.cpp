#include "runtime/engine/training/event_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

// ---- protocol buffers: a message is a sequence of fields, each a number, a wire type and a value

enum WireType : uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, uint32_t field, WireType type) { append_varint(out, field << 3 | type); }

/// Little-endian.
template <typename Unsigned>
void append_fixed(std::string& out, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string number_field(uint32_t field, int64_t value) {
  std::string out;
  append_key(out, field, varint);
  append_varint(out, static_cast<uint64_t>(value));
  return out;
}

std::string double_field(uint32_t field, double value) {
  std::string out;
  append_key(out, field, fixed64);
  append_fixed(out, std::bit_cast<uint64_t>(value));
  return out;
}

std::string float_field(uint32_t field, float value) {
  std::string out;
  append_key(out, field, fixed32);
  append_fixed(out, std::bit_cast<uint32_t>(value));
  return out;
}

/// A text, or a message in its wire format.
std::string bytes_field(uint32_t field, std::string_view bytes) {
  std::string out;
  append_key(out, field, delimited);
  append_varint(out, bytes.size());
  return out.append(bytes);
}

// ---- Event { 1: wall_time, 2: step, 3: file_version, 5: summary, 7: session_log },
// Summary { 1: value }, Value { 1: tag, 2: simple_value, 8: tensor, 9: metadata }

std::string summary_field(std::string_view tag, std::string_view value) {
  return bytes_field(5, bytes_field(1, bytes_field(1, tag).append(value)));
}

/// SummaryMetadata { 1: plugin_data { 1: plugin_name } }, TensorProto { 1: dtype, 2: shape { 2: dim { 1: size
/// }
/// }, 8: string_val }
std::string text_value(std::string_view text) {
  constexpr int64_t kString = 7;
  const std::string shape = bytes_field(2, number_field(1, 1));
  const std::string tensor = number_field(1, kString) + bytes_field(2, shape) + bytes_field(8, text);
  return bytes_field(8, tensor) + bytes_field(9, bytes_field(1, bytes_field(1, "text")));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string file_name() {
  static std::atomic<int> number = 0;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == 0) std::strcpy(host.data(), "localhost");
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<int64_t>(seconds_now()), host.data(),
                     ::getpid(), number++);
}

std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1 ? kReversedPolynomial : 0);
  }
  return table;
}

/// The checksum of a TFRecord: a file that contains its own checksums has other checksums.
uint32_t masked_crc(std::string_view bytes) {
  constexpr uint32_t kMask = 0xa282ead8;
  return std::rotr(crc32c(bytes), 15) + kMask;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& directory, int64_t first_step) {
  make_directories(directory);
  const std::filesystem::path path = directory / file_name();
  out_.open(path, std::ios::binary);
  if (!out_) fail_with(Status::io, "'{}': the event file cannot be created", path.string());
  constexpr int64_t kStart = 1;  // SessionLog { 1: status }
  add_event(0, bytes_field(3, "brain.Event:2"));
  if (first_step > 0) add_event(first_step + 1, bytes_field(7, number_field(1, kStart)));
  flush();
}

void EventFile::add_scalar(int64_t step, std::string_view tag, double value) {
  add_event(step, summary_field(tag, float_field(2, static_cast<float>(value))));
}

void EventFile::add_text(int64_t step, std::string_view tag, std::string_view text) {
  add_event(step, summary_field(tag, text_value(text)));
}

void EventFile::flush() {
  out_.flush();
  if (!out_) fail_with(Status::io, "the event file cannot be written: is the disk full?");
}

void EventFile::add_event(int64_t step, std::string_view fields) {
  add_record((double_field(1, seconds_now()) + number_field(2, step)).append(fields));
}

/// TFRecord: the length (u64), its checksum (u32), the data, and their checksum (u32).
void EventFile::add_record(std::string_view event) {
  std::string length, record;
  append_fixed(length, uint64_t{event.size()});
  record = length;
  append_fixed(record, masked_crc(length));
  record += event;
  append_fixed(record, masked_crc(event));
  out_ << record;
}

void EventFileObserver::started(int64_t first_step, int64_t) { file_.emplace(directory_, first_step); }

void EventFileObserver::stepped(const StepRecord& r) {
  const std::pair<const char*, double> scalars[] = {{"train/loss", r.loss},
                                                    {"train/learning_rate", r.learning_rate},
                                                    {"train/grad_norm", r.gradient_norm},
                                                    {"train/tokens_per_second", r.tokens_per_second},
                                                    {"train/peak_bytes", static_cast<double>(r.peak_bytes)}};
  for (const auto& [tag, value] : scalars)
    if (!std::isnan(value)) file_->add_scalar(r.step, tag, value);
  file_->flush();
}

void EventFileObserver::evaluated(const EvaluationRecord& r) {
  file_->add_scalar(r.step, "eval/loss", r.loss);
  for (const Metric& metric : r.metrics) file_->add_scalar(r.step, "eval/" + metric.name, metric.value);
  file_->flush();
}

void EventFileObserver::sampled(int64_t step, std::string_view text) {
  file_->add_text(step, "sample", text);
  file_->flush();
}

}  // namespace smelt
