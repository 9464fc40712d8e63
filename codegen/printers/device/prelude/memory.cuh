// Types of elements in memory, their conversions and rounding, and loads and stores of vectors of them.
// sm_get returns an element as the type that kernels compute with (float, int, long long or bool). sm_put
// rounds a number of that type to the element's type and stores it. sm_put_pair stores two adjacent
// elements, because one instruction can round two numbers to 16 bits. The text is C++ that every language of
// GPUs has.
// Requires: the macro SM (static __device__ __forceinline__). This is the first file of the prelude.
// A line with ==== begins a piece, and names the type or function that the piece defines. The text of a
// kernel contains only some of the pieces (codegen/printers/prelude.h): those that the kernel's code names,
// and those that other contained pieces name. A name in a comment counts too. A piece calls only pieces
// before it. A piece without text is defined by a file of the language, such as one of
// codegen/cuda/device/prelude.

// ==== float
SM float sm_get(float x) { return x; }
SM void sm_put(float& to, float x) { to = x; }
// ==== double
SM float sm_get(double x) { return (float)x; }
SM void sm_put(double& to, float x) { to = x; }
// ==== int
SM int sm_get(int x) { return x; }
SM void sm_put(int& to, int x) { to = x; }
// ==== i64
typedef long long i64;
SM long long sm_get(i64 x) { return x; }
SM void sm_put(i64& to, long long x) { to = x; }
// ==== u16
typedef unsigned short u16;
SM int sm_get(u16 x) { return x; }
SM void sm_put(u16& to, int x) { to = (u16)x; }
// ==== u8
typedef unsigned char u8;
SM int sm_get(u8 x) { return x; }
SM void sm_put(u8& to, int x) { to = (u8)x; }
// ==== i8
typedef signed char i8;
SM int sm_get(i8 x) { return x; }
SM void sm_put(i8& to, int x) { to = (i8)x; }
// ==== flag
struct flag { unsigned char bits; };
SM bool sm_get(flag x) { return x.bits != 0; }
SM void sm_put(flag& to, bool x) { to.bits = x; }
// ==== bf16
// ==== f16
// ==== f8e4m3
// ==== sm_round

// Returns x rounded to the element type T.
template <typename T, typename C>
SM C sm_round(C x) {
  T element;
  sm_put(element, x);
  return sm_get(element);
}
// ==== sm_round_random

// Rounds x to bf16 stochastically: adds 16 random bits (the low half of `bits`) to the bits of x, then
// clears the low half of the sum. NaN remains NaN.
SM float sm_round_random(float x, int bits) {
  const unsigned sum = __float_as_uint(x) + ((unsigned)bits & 0xFFFFu);
  return x != x ? x : __uint_as_float(sum & 0xFFFF0000u);
}
// ==== Pack

// `count` elements that one instruction loads or stores. The address is a multiple of their total size.
template <typename T, int count>
struct alignas(sizeof(T) * count) Pack { T at[count]; };
// ==== sm_load_early

// Copies V elements of memory without conversion. An access copies all V elements, but at most 16 bytes.
// Both addresses must be multiples of the size of an access.
template <typename T, int V>
SM void sm_load_early(T (&to)[V], const T* from) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
#pragma unroll
  for (int i = 0; i < V / P; ++i) ((Pack<T, P>*)to)[i] = ((const Pack<T, P>*)from)[i];
}
// ==== sm_load

// Loads and converts V elements. Only the first n of them exist; the others become 0. `aligned`: the
// address is a multiple of the size of an access, which is that of V elements, but at most 16 bytes. Each
// element is loaded alone if `aligned` is false or n < V.
template <bool aligned, typename T, typename C, int V, typename N>
SM void sm_load(C (&to)[V], const T* from, N n) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
  if (aligned && n >= V) {
    Pack<T, P> packs[V / P];
#pragma unroll
    for (int i = 0; i < V / P; ++i) packs[i] = ((const Pack<T, P>*)from)[i];
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = sm_get(packs[i / P].at[i % P]);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = i < n ? sm_get(from[i]) : C(0);
  }
}
// ==== sm_load_end

// Loads and converts `count` elements, from element number `at` on, in one access. Does nothing if count is
// 0.
template <int count, int at, typename T, typename C, int V>
SM void sm_load_piece(C (&to)[V], const T* from) {
  if constexpr (count > 0) {
    const Pack<T, count> pack = *(const Pack<T, count>*)(from + at);
#pragma unroll
    for (int i = 0; i < count; ++i) to[at + i] = sm_get(pack.at[i]);
  }
}

// Does the same as sm_load, but with fewer accesses if only the first R elements exist. Requires: n is R,
// or at least V; R < 8. The R elements are loaded in accesses of four, two and one elements.
template <bool aligned, int R, typename T, typename C, int V, typename N>
SM void sm_load_end(C (&to)[V], const T* from, N n) {
  if (!aligned || n >= V) return sm_load<aligned>(to, from, n);
#pragma unroll
  for (int i = R; i < V; ++i) to[i] = C(0);
  sm_load_piece<R & 4, 0>(to, from), sm_load_piece<R & 2, R & 4>(to, from), sm_load_piece<R & 1, R & 6>(to, from);
}
// ==== sm_put_pair

// Stores a to to[0] and b to to[1].
template <typename T, typename C>
SM void sm_put_pair(T* to, C a, C b) { sm_put(to[0], a), sm_put(to[1], b); }
// ==== bf16
// ==== f16
// ==== f8e4m3
// ==== sm_store

// Converts and stores the first n of V elements. `aligned`: the address `to` is a multiple of the size of
// an access, which is that of V elements, but at most 16 bytes. Each element is stored alone if `aligned`
// is false or n < V.
template <bool aligned, typename T, typename C, int V, typename N>
SM void sm_store(T* to, const C (&from)[V], N n) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
  if (aligned && n >= V) {
#pragma unroll
    for (int i = 0; i < V / P; ++i) {
      Pack<T, P> pack;
#pragma unroll
      for (int j = 0; j + 1 < P; j += 2) sm_put_pair(&pack.at[j], from[i * P + j], from[i * P + j + 1]);
      if (P == 1) sm_put(pack.at[0], from[i * P]);
      ((Pack<T, P>*)to)[i] = pack;
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (i < n) sm_put(to[i], from[i]);
  }
}
// ==== sm_store_end

// Converts and stores `count` elements, from element number `at` on, in one access. Does nothing if count
// is 0.
template <int count, int at, typename T, typename C, int V>
SM void sm_store_piece(T* to, const C (&from)[V]) {
  if constexpr (count == 1) sm_put(to[at], from[at]);
  if constexpr (count > 1) {
    Pack<T, count> pack;
#pragma unroll
    for (int i = 0; i < count; i += 2) sm_put_pair(&pack.at[i], from[at + i], from[at + i + 1]);
    *(Pack<T, count>*)(to + at) = pack;
  }
}

// Does the same as sm_store, but with fewer accesses if only the first R elements exist. Requires: n is R,
// or at least V; R < 8. The R elements are stored in accesses of four, two and one elements.
template <bool aligned, int R, typename T, typename C, int V, typename N>
SM void sm_store_end(T* to, const C (&from)[V], N n) {
  if (!aligned || n >= V) return sm_store<aligned>(to, from, n);
  sm_store_piece<R & 4, 0>(to, from), sm_store_piece<R & 2, R & 4>(to, from), sm_store_piece<R & 1, R & 6>(to, from);
}
// ==== sm_store_shifted

// Does the same as sm_store. The lanes of a warp have adjacent vectors, those that exist, of 16 bytes or a multiple of it,
// which may begin anywhere. `lane`: the number of the thread in its row, whose threads are whole warps. n: the elements
// from this vector to the end of the row, of which there is at least one.
