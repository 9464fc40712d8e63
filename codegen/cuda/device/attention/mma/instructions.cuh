// The functions of the attention kernels for sm_80 and later that contain PTX instructions. Tests on a host
// replace this file.
// Requires: the macros SM, MMA_TYPE (element type in PTX, a string), ROW_GRADIENTS, COLUMN_GRADIENTS,
// GRADIENT_PARAMETERS and GRADIENT_VALUES, the type Half (16 bits), the constants of attention_mma_text
// (codegen/cuda/attention/attention_mma.cpp), and the functions of the score_mod ("body",
// codegen/cuda/attention/attention_hooks.h).
// GRADIENT_PARAMETERS declares kernel parameters for gradients: ", float* gradient0, float* gradient1, ...".
// GRADIENT_VALUES lists their names. The kernel of dQ has ROW_GRADIENTS such parameters, the kernel of dK
// and dV has COLUMN_GRADIENTS, and the other kernels have none.
// Order of the text: instructions, tiles, elements; then table_rows in the forward kernel, and gradients
// in the other kernels; then forward, key_gradients, query_gradients or element_gradient.


// Return about 2^x, and about the base-2 logarithm of x.
SM float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
SM float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Returns two numbers rounded to Half, `low` in the lower 16 bits.
SM unsigned pack(float low, float high) {
  unsigned bits;
  asm("cvt.rn." MMA_TYPE "x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
// Returns the number in the lower 16 bits of a result of pack.
SM float low_of(unsigned bits) {
  if (MMA_TYPE[0] == 'b') return __uint_as_float(bits << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)bits));
  return x;
}
// Returns x, but hides from the compiler that the result is x. So the compiler computes addresses from the
// result after each call, and does not keep them in registers between calls.
SM int fresh(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Returns the address in shared memory of what p points to. The functions below take such addresses, of 32
// bits.
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Start a copy from device memory to the shared memory address `to`: copy_piece copies kVector elements, and
// copy_number copies one float. If is_there is false, zeros are written and nothing is read. If kVector is
// 1, copy_piece loads and stores the element itself, because cp.async cannot copy 2 bytes.
SM void copy_piece(unsigned to, const Half* from, bool is_there) {
  if constexpr (kVector == 8) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(is_there ? 16 : 0));
  } else if constexpr (kVector == 1) {
    const Half value = is_there ? *from : (Half)0;
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(value));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(2 * kVector),
                 "r"(is_there ? 2 * kVector : 0));
  }
}
SM void copy_number(unsigned to, const float* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(is_there ? 4 : 0));
}
// commit_copies makes one group of the copies that the thread has started since its previous group.
// wait_for_copies waits until all groups of the thread are complete. A barrier must follow before other
// threads read what was copied.
SM void commit_copies() { asm volatile("cp.async.commit_group;"); }
SM void wait_for_copies() { asm volatile("cp.async.wait_group 0;"); }

// Load four 8 x 8 matrices of Half from shared memory. Lane 8 * i + r passes the address of row r (16 bytes)
// of matrix i. load_transposed also transposes each matrix. Each lane gets two elements of matrix i in
// to[i]: row lane / 4, columns 2 * (lane % 4) and 2 * (lane % 4) + 1. All lanes of a warp call these.
SM void load_fragment(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
// Transposes an 8 x 8 matrix of Half. Each lane holds two of its elements in `word`, as in to[i] above.
SM void transpose(unsigned& word) {
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(word));
}
// d += a b, for the fragments of d[16, 8] (f32), a[16, 16] and b[16, 8]. b0 has rows 0 to 7 of b, and b1 has
// rows 8 to 15. All lanes of a warp call this.
SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE
               ".f32 {%0,%1,%2,%3}, "
               "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Stores a word at the shared memory address `to`.
SM void store_word(unsigned to, unsigned word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word));
}
// Copies kVector elements from the shared memory address `from` to device memory.
SM void store_piece(Half* to, unsigned from) {
  unsigned w[4];
  if constexpr (kVector == 8) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3]));
  } else if constexpr (kVector == 4) {
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(from));
    asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(to), "r"(w[0]), "r"(w[1]));
  } else if constexpr (kVector == 2) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(from));
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(w[0]));
  } else {
    unsigned short h;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(h) : "r"(from));
    *to = h;
  }
}
