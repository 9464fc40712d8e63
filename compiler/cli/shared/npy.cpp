#include "compiler/cli/shared/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

struct NumpyName {
  std::string_view descr;
  DType dtype;
};
constexpr NumpyName kNumpyNames[] = {{"<f4", DType::f32}, {"<f8", DType::f64},     {"<f2", DType::f16},
                                     {"<i4", DType::i32}, {"<i8", DType::i64},     {"<u2", DType::u16},
                                     {"|u1", DType::u8},  {"|b1", DType::boolean}, {"|i1", DType::i8}};
constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64, kMaxHeader = size_t{1} << 20;

struct Header {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  size_t data = 0;  // where it begins
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Header header() {
    if (bytes_.substr(0, kMagic.size()) != kMagic || bytes_.size() < 12)
      wrong("not an .npy file: it does not begin with \\x93NUMPY");
    const auto version = static_cast<unsigned char>(bytes_[6]);
    if (version < 1 || version > 3) wrong(fmt::format("format version {}, expected 1 to 3", version));
    const size_t begin = version == 1 ? 10 : 12, length = little_endian(8, begin - 8);
    if (length > kMaxHeader || begin + length > bytes_.size()) wrong("its header ends after the file");
    dictionary_ = bytes_.substr(begin, length);
    if (value_of("fortran_order") != "False")
      wrong("it is in Fortran order; save numpy.ascontiguousarray(x)");
    return {dtype(), shape(), begin + length};
  }

 private:
  [[noreturn]] void wrong(std::string_view what) const {
    fail_with(Status::invalid_file, "{}: {}", file_, what);
  }

  size_t little_endian(size_t at, size_t bytes) const {
    size_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }

  /// The text after 'key': up to the comma that ends it; commas in brackets do not.
  std::string_view value_of(std::string_view key) const {
    const size_t found = dictionary_.find(fmt::format("'{}':", key));
    if (found == std::string_view::npos) wrong(fmt::format("its header has no '{}'", key));
    size_t begin = found + key.size() + 3;
    while (begin < dictionary_.size() && dictionary_[begin] == ' ') ++begin;
    const bool tuple = begin < dictionary_.size() && dictionary_[begin] == '(';
    const size_t end = dictionary_.find_first_of(tuple ? ")" : ",}", begin);
    if (end == std::string_view::npos) wrong(fmt::format("the value of '{}' in its header has no end", key));
    return dictionary_.substr(begin, end - begin);
  }

  DType dtype() const {
    std::string_view text = value_of("descr");
    if (text.size() > 2) text = text.substr(1, text.size() - 2);
    for (const NumpyName& row : kNumpyNames)
      if (row.descr == text) return row.dtype;
    wrong(fmt::format("elements of type '{}'; expected one of <f4 <f8 <f2 <i4 <i8 <u2 |u1 |b1 |i1", text));
  }

  std::vector<int64_t> shape() const {
    const std::string_view text = value_of("shape");
    std::vector<int64_t> shape;
    for (size_t i = text.find_first_of("0123456789"); i != std::string_view::npos;) {
      int64_t extent = 0;
      const auto [stop, error] = std::from_chars(text.data() + i, text.data() + text.size(), extent);
      if (error != std::errc{}) wrong("a dimension of its shape is too large");
      shape.push_back(extent);
      i = text.find_first_of("0123456789", static_cast<size_t>(stop - text.data()));
    }
    return shape;
  }

  std::string_view bytes_, dictionary_;
  const std::string& file_;
};

std::string header_text(const HostTensor& tensor) {
  const auto row = std::ranges::find(kNumpyNames, tensor.dtype, &NumpyName::dtype);
  if (row == std::end(kNumpyNames))
    fail("'{}': {} has no spelling in .npy files; write .safetensors instead", tensor.name,
         name(tensor.dtype));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", row->descr,
                                 fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  const size_t fixed = kMagic.size() + 4;
  text.append((kAlignment - (fixed + text.size() + 1) % kAlignment) % kAlignment, ' ');
  return text + "\n";
}

}  // namespace

HostTensor read_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::string name = path.string();
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const Header header = Reader(bytes, name).header();
  const auto needed =
      static_cast<size_t>(count_elements(header.shape)) * static_cast<size_t>(size_of(header.dtype));
  if (bytes.size() - header.data != needed)
    fail_with(Status::invalid_file, "{}: {} needs {} bytes of data, the file holds {}", name,
              describe(header.dtype, header.shape), needed, bytes.size() - header.data);
  HostTensor tensor{path.stem().string(), header.dtype, header.shape, {}};
  const auto data = file.bytes().subspan(header.data);
  tensor.bytes.assign(data.begin(), data.end());
  return tensor;
}

void write_npy(const std::filesystem::path& path, const HostTensor& tensor) {
  const std::string header = header_text(tensor);
  if (header.size() > 65535) fail("'{}': too many dimensions for an .npy file", tensor.name);
  const char length[2] = {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  AtomicFile file(path);
  file.write(kMagic);
  file.write(std::string_view("\x01\x00", 2));
  file.write(std::string_view(length, 2));
  file.write(header);
  file.write(std::span(tensor.bytes));
  file.commit();
}

}  // namespace smelt
