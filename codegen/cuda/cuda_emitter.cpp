#include "codegen/cuda/cuda_emitter.h"

#include <algorithm>
#include <cctype>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/launch_dims.h"
#include "ir/text/text_writer.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// x0, y12, p3: names that the emitter itself does not make.
bool is_param_name(const std::string& name) {
  return name.size() > 1 && std::string_view("xyp").find(name[0]) != std::string_view::npos &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// One capital letter, as symbols have: not what the prelude's templates are called within themselves.
bool is_symbol_name(const std::string& name) {
  return name.size() == 1 && std::isupper(static_cast<unsigned char>(name[0])) != 0;
}

std::string comment(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += "// " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

constexpr size_t kSourcesShown = 8;

std::string source_comment(const std::vector<std::string>& sources) {
  std::string text;
  for (size_t i = 0; i < std::min(sources.size(), kSourcesShown); ++i)
    text += (i == 0 ? "from " : ", ") + sources[i];
  if (sources.size() > kSourcesShown) text += fmt::format(" and {} more", sources.size() - kSourcesShown);
  return text.empty() ? "" : comment(text);
}

std::string tail_name(size_t number) { return fmt::format("tail{}", number); }
std::string tail_prefix(size_t number) { return tail_name(number) + "_"; }

/// Every block but one leaves. What the others have written is there for that one, by any path: the fence
/// behind the count drops what the multiprocessor had kept. The count begins anew with the next launch; those
/// of one stream follow one another.
constexpr const char* kIsLastBlock = R"(__device__ unsigned blocks_ended;

SM bool is_last_block() {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

)";

}  // namespace

CudaEmitter::CudaEmitter(const Kernel& kernel)
    : k_(kernel),
      s_(kernel.schedule),
      shape_(kernel),
      dims_(launch_dims(kernel)),
      axis_text_(kernel.axes.size(), "0"),
      values_(kernel.instructions.size()) {
  if (s_.threads < 1 || s_.team < 1 || s_.threads % s_.team != 0)
    fail_with(Status::internal, "kernel {}: it has no schedule for a GPU", kernel.name);
  V_ = s_.vector_width, W_ = s_.team, T_ = s_.threads / s_.team;
  K_ = s_.vectors, U_ = std::max(1, s_.unroll);
  name_things();
}

void CudaEmitter::name_things() {
  for (size_t i = 0; i < dims_.size(); ++i) {
    const std::string text = dims_[i].str();
    dim_names_.push_back(is_symbol_name(text) ? text : fmt::format("d{}", i));
  }
  for (size_t i = 0; i < k_.params.size(); ++i) {
    const std::string& name = k_.params[i].name;
    const bool unique = std::count_if(k_.params.begin(), k_.params.end(),
                                      [&](const KernelParam& p) { return p.name == name; }) == 1;
    param_names_.push_back(unique && is_param_name(name) ? name : fmt::format("arg{}", i));
  }
}

void CudaEmitter::reject(int id, const char* what) const {
  fail_with(Status::internal, "kernel {}: instruction %{}: {}", k_.name, id, what);
}

std::string CudaEmitter::emit() {
  emit_body();
  for (const Kernel& last : k_.tail) {
    CudaEmitter& one = tail_.emplace_back(last);
    one.block_ = "0u";
    one.emit_body();
    shared_floats_ = std::max(shared_floats_, one.shared_floats_);
    shared_ints_ = std::max(shared_ints_, one.shared_ints_);
  }
  return assemble();
}

void CudaEmitter::emit_body() {
  out_.indent();
  emit_prologue();
  if (shape_.is_reduced())
    emit_tiles();
  else
    emit_rows();
}

// ---- arguments

/// One parameter each, with a prefix before its name.
std::string CudaEmitter::pointers(const std::string& prefix) const {
  std::string text;
  for (size_t i = 0; i < k_.params.size(); ++i)
    text += fmt::format("{}{}* {}{}, ", k_.params[i].output ? "" : "const ",
                        cuda_memory_type(k_.params[i].dtype), prefix, param_names_[i]);
  return text;
}

/// What the host passes. Copies have a struct of theirs, which every block indexes.
std::string CudaEmitter::signature() const {
  std::string text = k_.copies > 1 ? "const __grid_constant__ Copies copies, " : pointers("");
  for (size_t i = 0; i < tail_.size(); ++i) text += tail_[i].pointers(tail_prefix(i));
  text += "const unsigned* random";
  for (const std::string& name : dim_names_) text += fmt::format(", long long {}_", name);
  for (int i = 0; i < k_.random_slots; ++i) text += fmt::format(", unsigned id{}", i);
  return text + ", long long range_";
}

/// What a function that the kernel calls takes.
std::string CudaEmitter::device_signature() const {
  std::string text = pointers("") + "const unsigned* random";
  for (const std::string& name : dim_names_) text += fmt::format(", long long {}_", name);
  for (int i = 0; i < k_.random_slots; ++i) text += fmt::format(", unsigned id{}", i);
  return text + ", long long range_, float* shared_floats, int* shared_ints";
}

std::string CudaEmitter::arguments() const {
  std::string text;
  for (const std::string& name : param_names_) text += name + ", ";
  text += "random";
  for (const std::string& name : dim_names_) text += fmt::format(", {}_", name);
  for (int i = 0; i < k_.random_slots; ++i) text += fmt::format(", id{}", i);
  return text + ", range_, shared_floats, shared_ints";
}

void CudaEmitter::emit_prologue() {
  out_.line("const Index range = (Index)range_;");
  for (size_t i = 0; i < dims_.size(); ++i)
    out_.line("const Index {0} = (Index){0}_;{1}", dim_names_[i],
              dim_names_[i] == dims_[i].str() ? "" : "  // " + dims_[i].str());
}

// ---- several sets of arguments, and what the last block goes on with

std::string CudaEmitter::copies_type() const {
  std::string members = pointers("");
  for (size_t at = 0; (at = members.find(", ", at)) != std::string::npos;) members.replace(at, 2, "; ");
  return fmt::format("struct Pointers {{ {}}};\nstruct Copies {{ Pointers of[{}]; }};\n\n", members,
                     k_.copies);
}

std::string CudaEmitter::tail_function(const std::string& name) const {
  return fmt::format("SM void {}({}) {{\n{}}}\n\n", name, device_signature(), out_.text());
}

std::string CudaEmitter::tail_call(const std::string& name) const {
  std::string text;
  for (const std::string& param : param_names_) text += fmt::format("{}_{}, ", name, param);
  return fmt::format("  {}({}random, {}, shared_floats, shared_ints);\n", name, text,
                     k_.range().constant().value());
}

// ---- the kernel

/// A body that runs by vectors where sizes known at launch allow it stands in a template, made twice.
std::string CudaEmitter::call() const {
  if (!aligned_conditions_.empty())
    return fmt::format("  if ({})\n    body<true>({});\n  else\n    body<false>({});\n",
                       conditions(aligned_conditions_), arguments(), arguments());
  return tail_.empty() ? out_.text() : fmt::format("  body({});\n", arguments());
}

void CudaEmitter::need_elements(PreludeNeeds& needs) const {
  for (const KernelParam& param : k_.params) need_element(needs, param.dtype);
  for (const CudaEmitter& last : tail_) last.need_elements(needs);
}

std::string CudaEmitter::assemble() {
  const bool twice = !aligned_conditions_.empty();
  std::string code = k_.copies > 1 ? copies_type() : "";
  if (twice || !tail_.empty())
    code += fmt::format("{}SM void body({}) {{\n{}}}\n\n", twice ? "template <bool aligned>\n" : "",
                        device_signature(), out_.text());
  if (!tail_.empty()) code += kIsLastBlock;
  for (size_t i = 0; i < tail_.size(); ++i) code += tail_[i].tail_function(tail_name(i));
  code += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", s_.threads, k_.name,
                      signature());
  code +=
      fmt::format("  __shared__ __align__(16) float shared_floats[{}];\n  __shared__ int shared_ints[{}];\n",
                  std::max<int64_t>(1, shared_floats_), std::max<int64_t>(1, shared_ints_));
  for (size_t i = 0; k_.copies > 1 && i < param_names_.size(); ++i)
    code +=
        fmt::format("  {0}{1}* const {2} = copies.of[blockIdx.y].{2};\n", k_.params[i].output ? "" : "const ",
                    cuda_memory_type(k_.params[i].dtype), param_names_[i]);
  code += call();
  if (!tail_.empty()) code += "  if (!is_last_block()) return;\n";
  for (size_t i = 0; i < tail_.size(); ++i)
    code += (i == 0 ? "" : "  __syncthreads();\n") + tail_[i].tail_call(tail_name(i));
  code += "}\n";
  PreludeNeeds needs;
  need_elements(needs);
  need_calls(needs, code);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n",
                     s_.index32 ? "int" : "long long") +
         cuda_prelude(needs) + "\n" + code;
}

// ---- sizes and indices

std::string CudaEmitter::dim(const Dim& dim) const {
  if (const auto number = dim.constant()) {
    const bool wide = *number > INT32_MAX || *number < -INT32_MAX;
    return *number < 0 ? fmt::format("({}{})", *number, wide ? "ll" : "")
                       : fmt::format("{}{}", *number, wide ? "ll" : "");
  }
  return dim_names_[static_cast<size_t>(std::find(dims_.begin(), dims_.end(), dim) - dims_.begin())];
}

std::string CudaEmitter::sum(const Dim& offset, const std::vector<std::pair<std::string, Dim>>& terms) const {
  std::string text;
  for (const auto& [name, stride] : terms) {
    if (stride.is_zero() || name == "0") continue;
    text += (text.empty() ? "" : " + ") + (stride.is_one() ? name : name + " * " + dim(stride));
  }
  if (!offset.is_zero()) text += (text.empty() ? "" : " + ") + dim(offset);
  return text.empty() ? "0" : text;
}

std::string CudaEmitter::index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped) const {
  std::vector<std::pair<std::string, Dim>> terms;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (static_cast<int>(axis) != skipped) terms.emplace_back(axis_text_[axis], strides[axis]);
  return sum(offset, terms);
}

/// Indices along `axes`, the last of them fastest, from the number of an item.
void CudaEmitter::emit_digits(const std::string& item, const std::vector<int>& axes) {
  std::vector<int> wide;
  for (int axis : axes)
    if (!k_.axes[axis].extent.is_one()) wide.push_back(axis);
  std::string rest = item;
  for (size_t i = wide.size(); i-- > 0;) {
    const int axis = wide[i];
    axis_text_[axis] = fmt::format("r{}", axis);
    if (i == 0) {
      out_.line("const Index r{} = {};", axis, rest);
      break;
    }
    const std::string extent = dim(k_.axes[axis].extent);
    out_.line("const Index r{0} = {1} % {2}, rest{0} = {1} / {2};", axis, rest, extent);
    rest = fmt::format("rest{}", axis);
  }
}

/// Where the columns end that a team works on.
std::string CudaEmitter::columns_end() const {
  if (s_.flat) return "end";
  return shape_.inner < 0 ? "1" : dim(k_.axes[shape_.inner].extent);
}

std::string CudaEmitter::conditions(std::vector<std::string> all) const {
  std::erase(all, "");
  std::string text;
  for (const std::string& condition : all) text += (text.empty() ? "" : " && ") + condition;
  return text;
}

// ---- the whole file

std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources) {
  return source_comment(sources) + comment(print(kernel)) + CudaEmitter(kernel).emit();
}

}  // namespace smelt
