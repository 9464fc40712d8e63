// Column blocks of row kernels: loops around the lanes, vectors in flight, one element of a vector.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

}  // namespace

void CudaEmitter::emit_row_scope(const KernelBlock& block) {
  const Nest nest = shape_.nest_of(block);
  for (int id : block.instructions) emit_instruction(nest, id);
}

void CudaEmitter::emit_column_block(const KernelBlock& block) {
  const Nest nest = shape_.nest_of(block);
  for (int id : block.instructions) {
    if (!is_cached(id)) continue;
    const bool flag = cuda_kind(instruction(id).dtype) == CudaKind::flag;
    if (flag)
      out_.line("unsigned kept{}[{}] = {{}};", id, K_);
    else
      out_.line("{} kept{}[{}][{}];", cuda_type(cuda_kind(instruction(id).dtype)), id, K_, V_);
  }
  begin_reductions(nest);
  emit_nest(nest, 0);
  finish_reductions();
}

void CudaEmitter::emit_depth(const Nest& nest, int depth) {
  for (int id : nest.block->instructions)
    if (nest.depth.lookup(id) == depth) emit_instruction(nest, id);
}

void CudaEmitter::emit_nest(const Nest& nest, size_t depth) {
  emit_depth(nest, static_cast<int>(depth));
  if (depth == nest.outer.size()) return emit_vectors(nest);
  const int axis = nest.outer[depth];
  axis_text_[axis] = fmt::format("o{}", axis);
  out_.open("for (Index o{0} = 0; o{0} < {1}; ++o{0})", axis, dim(k_.axes[axis].extent));
  emit_nest(nest, depth + 1);
  out_.close();
}

// ---- vectors

bool CudaEmitter::is_cached(int id) const {
  return std::find(s_.cached.begin(), s_.cached.end(), id) != s_.cached.end();
}

bool CudaEmitter::loads_by_vector(const Nest& nest, int id) const {
  return nest.in_vectors(id) && shape_.is_vector_load(id);
}

bool CudaEmitter::stores_by_vector(const Nest& nest, int id) const {
  return instruction(id).kind == Kind::store && V_ > 1 && nest.in_vectors(id) && shape_.is_vector_access(id);
}

/// The registers of a team hold a row and nothing else.
bool CudaEmitter::covers_exactly() const {
  if (s_.flat || K_ == 0 || shape_.inner < 0) return false;
  return k_.axes[shape_.inner].extent.constant() == K_ * W_ * V_;
}

/// Elements from c on.
std::string CudaEmitter::rest() const {
  return shape_.has_whole_vectors() ? std::to_string(V_) : fmt::format("{} - c", columns_end());
}

/// How a vector is accessed: what the last one of a row has is said where it is known.
std::string CudaEmitter::vector_form(int id) {
  const auto extent = k_.axes[shape_.inner].extent.constant();
  const int64_t end = extent && alignment_of(id) != VectorAlignment::When::never ? *extent % V_ : 0;
  return end == 0 ? fmt::format("<{}>", alignment_text(id))
                  : fmt::format("_end<{}, {}>", alignment_text(id), end);
}

std::string CudaEmitter::lane_index() const { return V_ == 1 ? "c" : "(c + j)"; }

/// The vectors of a row: all in registers, or in a loop; a few of them in flight at a time.
void CudaEmitter::emit_vectors(const Nest& nest) {
  out_.open("");
  starts_.clear(), start_names_.clear(), loaded_.clear();
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && instruction(id).access.param >= 0) starts_[id] = start_of_lanes(id);
  emit_inverses(nest);
  const std::string lane = W_ > 1 ? "lane" : "0", first = s_.flat ? "begin + " : "";
  const int64_t step = int64_t{W_} * V_, turns = s_.flat && s_.interleaved ? s_.splits : 1;
  if (K_ > 0 && U_ >= K_) {
    emit_phases(nest, "k", fmt::format("{}(k * {} + {}) * {}", first, W_, lane, V_), K_);
  } else if (K_ > 0) {
    const int64_t rounds = (K_ + U_ - 1) / U_;
    out_.open_unrolled("b", rounds);
    emit_phases(nest, "k", fmt::format("{}((b * {} + u) * {} + {}) * {}", first, U_, W_, lane, V_), U_);
    out_.close();
  } else {
    out_.open("for (Index c0 = {}{} * {}; c0 < {}; c0 += {})", first, lane, V_, columns_end(),
              step * U_ * turns);
    emit_phases(nest, "u", fmt::format("c0 + u * {}", step), U_);
    out_.close();
  }
  out_.close();
}

/// Of the divisors that rows are multiplied by the inverses of, each once.
void CudaEmitter::emit_inverses(const Nest& nest) {
  std::set<int> divisors;
  for (int id : nest.block->instructions) {
    const Instruction& x = instruction(id);
    const bool scaled = x.form == Form::scaled_inverse;
    if ((scaled || x.form == Form::inverse) && divisors.insert(x.operands[1]).second)
      emit_inverse(x.operands[1], scaled);
  }
}

/// That of a subnormal number would be infinite, so it is the inverse in larger units.
void CudaEmitter::emit_inverse(int divisor, bool scaled) {
  const std::string d = value_of(divisor).text, name = fmt::format("inverse{}", divisor);
  if (!scaled) return out_.line("const float {} = 1.0f / {};", name, d);
  out_.line("const float unit_of_{} = fabsf({}) < 1.17549435e-38f ? 1.84467441e19f : 1.0f;", name, d);
  out_.line("const float {0} = 1.0f / ({1} * unit_of_{0});", name, d);
}

/// `count` vectors: all their loads, then all their work. The place of each is a function of u (and of its
/// register).
void CudaEmitter::emit_phases(const Nest& nest, const std::string& slot, const std::string& position,
                              int64_t count) {
  const bool in_rounds = slot == "k" && U_ < K_;
  const auto open_one = [&] {
    out_.open_unrolled(in_rounds || slot == "u" ? "u" : "k", count);
    if (in_rounds) out_.line("const int k = b * {} + u;", U_);
    out_.line("const Index c = {};", position);
    std::string live = covers_exactly() ? "" : fmt::format("c < {}", columns_end());
    if (in_rounds && K_ % U_ != 0) live = conditions({fmt::format("k < {}", K_), live});
    if (live.empty())
      out_.open("");
    else
      out_.open("if ({})", live);
  };
  const auto close_one = [&] { out_.close(), out_.close(); };
  slot_ = slot;
  const bool any_loads = std::any_of(nest.block->instructions.begin(), nest.block->instructions.end(),
                                     [&](int id) { return loads_by_vector(nest, id); });
  const bool apart = count > 1 && any_loads;
  const std::string in_flight = in_rounds ? "u" : slot;
  if (apart) {
    declare_loads(nest, fmt::format("[{}]", count));
    open_one();
    emit_loads(nest, in_flight);
    close_one();
  }
  open_one();
  if (!apart && any_loads) {
    declare_loads(nest, "");
    emit_loads(nest, "");
  }
  emit_vector(nest, slot);
  close_one();
}

void CudaEmitter::declare_loads(const Nest& nest, const std::string& slots) {
  for (int id : nest.block->instructions)
    if (loads_by_vector(nest, id) && !is_cached(id))
      out_.line("{} a{}{}[{}];", cuda_type(cuda_kind(k_.params[instruction(id).access.param].dtype)), id,
                slots, V_);
}

void CudaEmitter::emit_loads(const Nest& nest, const std::string& slot) {
  for (int id : nest.block->instructions) {
    if (!loads_by_vector(nest, id)) continue;
    const bool flag = cuda_kind(instruction(id).dtype) == CudaKind::flag;
    std::string array = slot.empty() ? fmt::format("a{}", id) : fmt::format("a{}[{}]", id, slot);
    if (is_cached(id) && !flag) array = fmt::format("kept{}[{}]", id, slot_);
    if (is_cached(id) && flag) reject(id, "keeps a flag that is read from memory");
    const Form form = instruction(id).form;
    const std::string from = form == Form::prefetched ? fetched_vector(id)
                             : form == Form::early    ? fmt::format("early{}[k]", id)
                                                      : vector_place(id);
    out_.line("sm_load{}({}, {}, {});", vector_form(id), array, from, rest());
    loaded_[id] = array;
  }
}

/// Vectors of eight or four columns draw their decisions at once.
bool CudaEmitter::draws_by_vector(int id) const {
  return (V_ == 8 || V_ == 4) && instruction(id).kind == Kind::random && shape_.is_vector_random(id);
}

/// Along a row, by a statement of the table for a vector's elements at once.
bool CudaEmitter::takes_vectors(int id) const {
  const Instruction& x = instruction(id);
  return x.kind == Kind::reduce && !info(x.reduce_op).cuda_take.empty() && !shape_.is_reduced() &&
         !keeps_exponentials(id);
}

/// The work on one vector: what it needs whole, its elements, what becomes of it whole.
void CudaEmitter::emit_vector(const Nest& nest, const std::string& slot) {
  slot_ = slot;
  const auto whole = [&](auto&& what) {
    for (int id : nest.block->instructions)
      if (nest.in_vectors(id)) what(id, instruction(id));
  };
  if (shape_.inner >= 0) axis_text_[shape_.inner] = "c";
  whole([&](int id, const Instruction& x) {
    if (draws_by_vector(id)) {
      out_.line("unsigned w{}[4];", id);
      out_.line("sm_philox(w{}, random, id{}, (unsigned)({}), (unsigned)(c / 8));", id, x.slot,
                random_row(x));
      if (V_ < 8) out_.line("if (c % 8 != 0) w{0}[0] = w{0}[2], w{0}[1] = w{0}[3];", id);
    }
    if (stores_by_vector(nest, id))
      out_.line("{} s{}[{}];", cuda_type(cuda_kind(k_.params[x.access.param].dtype)), id, V_);
    if (takes_vectors(id)) out_.line("{} e{}[{}];", cuda_type(state_of(id).reduction.kind(0)), id, V_);
  });
  emit_lanes(nest);
  whole([&](int id, const Instruction&) {
    if (takes_vectors(id))
      out_.line("{}", state_of(id).reduction.take(state_of(id).names, fmt::format("e{}", id)));
    if (stores_by_vector(nest, id))
      out_.line("sm_store{}({}, s{}, {});", vector_form(id), vector_place(id), id, rest());
  });
}

/// What an earlier block kept of the element at hand.
CudaValue CudaEmitter::kept_value(int id, const std::string& j) const {
  const CudaKind kind = cuda_kind(instruction(id).dtype);
  if (kind == CudaKind::flag) return {fmt::format("((kept{}[{}] >> {} & 1u) != 0)", id, slot_, j), kind};
  return {fmt::format("kept{}[{}][{}]", id, slot_, j), kind};
}

void CudaEmitter::emit_lanes(const Nest& nest) {
  lanes_ = true;
  guard_ = shape_.has_whole_vectors() ? "" : "live";
  if (shape_.inner >= 0) axis_text_[shape_.inner] = lane_index();
  if (V_ > 1) out_.open_unrolled("j", V_);
  if (!guard_.empty()) out_.line("const bool live = c + j < {};", columns_end());
  const std::string j = V_ > 1 ? "j" : "0";
  for (const auto& [id, array] : loaded_)
    values_[id] =
        CudaValue{fmt::format("{}[{}]", array, j), cuda_kind(k_.params[instruction(id).access.param].dtype)};
  for (int id : s_.cached)
    if (nest.depth.count(id) == 0) values_[id] = kept_value(id, j);
  for (int id : nest.block->instructions) {
    if (!nest.in_vectors(id) || loaded_.count(id) != 0) continue;
    emit_instruction(nest, id);
    if (!is_cached(id)) continue;
    const CudaValue value = value_of(id);
    if (value.kind == CudaKind::flag)
      out_.line("kept{}[{}] |= (unsigned){} << {};", id, slot_, value.text, j);
    else
      out_.line("kept{}[{}][{}] = {};", id, slot_, j, value.text);
  }
  if (V_ > 1) out_.close();
  lanes_ = false;
  guard_.clear();
  if (shape_.inner >= 0) axis_text_[shape_.inner] = "0";
}

}  // namespace smelt
