#include "ir/text/text_writer.h"

#include <fmt/ranges.h>

#include "ir/text/lexer.h"

namespace smelt {

void Fields::add(std::string_view key, std::string value) {
  text_ += fmt::format("{}{} = {}", text_.empty() ? "" : ", ", key, value);
}

std::string Fields::str() const { return text_.empty() ? "" : " {" + text_ + "}"; }

std::string bare_or_quoted(std::string_view name) {
  return is_identifier(name) ? std::string(name) : quote(name);
}

std::string text(double number) { return str(Attribute(number)); }

std::string text(const std::vector<std::string>& strings) {
  std::vector<std::string> quoted;
  quoted.reserve(strings.size());
  for (const std::string& string : strings) quoted.push_back(quote(string));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string text(const Attribute& attribute) {
  if (const auto* string = std::get_if<std::string>(&attribute)) return quote(*string);
  const auto* dim = std::get_if<Dim>(&attribute);
  return dim && !dim->is_constant() ? dim->str() : str(attribute);
}

std::string text(const Symbols& symbols) {
  std::vector<std::string> bounds;
  for (const Symbols::Bound& bound : symbols.bounds()) bounds.push_back(str(bound));
  return bounds.empty() ? "" : fmt::format("symbols {}\n", fmt::join(bounds, ", "));
}

namespace {

/// "[data, -]"
std::string text_of_dims(const std::vector<std::vector<std::string>>& cut) {
  std::vector<std::string> dims;
  for (const auto& axes : cut) dims.push_back(text_of_axes(axes));
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string line(const Segment& segment) {
  Fields fields;
  if (segment.init != Initializer{}) fields.add("init", str(segment.init));
  if (!segment.decay) fields.add("decay", "false");
  if (!segment.checkpoint_names.empty()) fields.add("checkpoint", text(segment.checkpoint_names));
  if (segment.transposed) fields.add("transposed", "true");
  if (segment.frozen) fields.add("frozen", "true");
  if (segment.stacked) fields.add("stacked", "true");
  if (segment.per_byte != 1) fields.add("per_byte", std::to_string(segment.per_byte));
  if (!segment.whole.empty()) fields.add("whole", fmt::format("[{}]", fmt::join(segment.whole, ",")));
  const std::string shared = segment.cut.empty() ? "" : " on " + text_of_dims(segment.cut);
  return fmt::format("  segment {}{} : [{}]{} at {}\n", quote(segment.name), fields.str(),
                     fmt::join(segment.shape, ","), shared, segment.offset);
}

/// " on [data, -] partial [model]", or nothing where all ranks hold all of it.
std::string shared(const State& state) {
  if (state.cut.empty() && state.partial.empty()) return "";
  auto cut = state.cut;
  cut.resize(state.shape.size());
  std::string result = " on " + text_of_dims(cut);
  if (!state.partial.empty()) result += fmt::format(" partial [{}]", fmt::join(state.partial, ", "));
  return result;
}

std::string text(const std::vector<BufferPart>& parts) {
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (const BufferPart& part : parts)
    texts.push_back(fmt::format("{}: [{}, {}]", part.begin, part.first_step, part.last_step));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string hex(const std::vector<std::byte>& data) {
  std::string digits;
  for (std::byte byte : data) digits += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return digits;
}

}  // namespace

std::string text(const State& state) {
  Fields fields;
  if (state.role != Role::state) fields.add("role", std::string(name(state.role)));
  if (state.init != Initializer{}) fields.add("init", str(state.init));
  if (!state.copy_of.empty()) fields.add("copy_of", quote(state.copy_of));
  if (!state.scales_of.empty()) fields.add("scales_of", quote(state.scales_of));
  if (!state.zeros_of.empty()) fields.add("zeros_of", quote(state.zeros_of));
  if (!state.format.empty()) fields.add("format", quote(state.format));
  if (state.from_model) fields.add("from_model", "true");
  if (!state.whole.empty()) fields.add("whole", str(state.whole));
  if (state.resident >= 0) fields.add("resident", std::to_string(state.resident));
  std::string result = fmt::format("state {}{} : {}{}{}", quote(state.name), fields.str(), name(state.dtype),
                                   str(state.shape), shared(state));
  if (state.segments.empty()) return result + "\n";
  result += " {\n";
  for (const Segment& segment : state.segments) result += line(segment);
  return result + "}\n";
}

std::string text(const Buffer& buffer, size_t number) {
  Fields fields;
  fields.add("role", std::string(name(buffer.role)));
  if (buffer.state >= 0) fields.add("state", std::to_string(buffer.state));
  if (buffer.offset_bytes != 0) fields.add("offset", std::to_string(buffer.offset_bytes));
  if (buffer.bytes != 0) fields.add("bytes", std::to_string(buffer.bytes));
  if (buffer.first_step != -1 || buffer.last_step != -1)
    fields.add("live", fmt::format("[{}, {}]", buffer.first_step, buffer.last_step));
  if (!buffer.parts.empty()) fields.add("parts", text(buffer.parts));
  if (!buffer.data.empty()) fields.add("data", quote(hex(buffer.data)));
  return fmt::format("buffer {} {}{} : {}[{}]\n", number, quote(buffer.name), fields.str(),
                     name(buffer.dtype), buffer.elements.str());
}

std::string text_of_axes(const std::vector<std::string>& axes) {
  return axes.empty() ? "-" : fmt::format("{}", fmt::join(axes, " + "));
}

std::string text(const Layout& layout) {
  if (layout.strides.empty()) return fmt::format("@{}[{}]", layout.buffer, layout.offset.str());
  std::vector<std::string> strides;
  strides.reserve(layout.strides.size());
  for (const Dim& stride : layout.strides) strides.push_back(stride.str());
  return fmt::format("@{}[{}; {}]", layout.buffer, layout.offset.str(), fmt::join(strides, ","));
}

}  // namespace smelt
