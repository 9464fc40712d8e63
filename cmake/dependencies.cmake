# smelt_find_library(VARIABLE NAMES name... [PATH_SUFFIXES folder...]): the archive lib<name>.a where packages are built.
function(smelt_find_library variable)
  if(SMELT_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  endif()
  find_library(${variable} ${ARGN} NO_CACHE REQUIRED)
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

find_package(fmt REQUIRED)
add_library(smelt_fmt INTERFACE)
target_link_libraries(smelt_fmt INTERFACE $<IF:$<BOOL:${SMELT_STATIC}>,fmt::fmt-header-only,fmt::fmt>)
find_package(nlohmann_json REQUIRED)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  include(${CMAKE_CURRENT_LIST_DIR}/clang_openmp.cmake)
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
find_package(CLI11 REQUIRED)

# The OpenMP build of OpenBLAS: it shares one thread pool with the kernels.
smelt_find_library(OPENBLAS_LIBRARY NAMES openblas PATH_SUFFIXES openblas-openmp x86_64-linux-gnu/openblas-openmp
                                                                 aarch64-linux-gnu/openblas-openmp)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp x86_64-linux-gnu/openblas-openmp
                                                 x86_64-linux-gnu aarch64-linux-gnu/openblas-openmp REQUIRED)
add_library(smelt_blas INTERFACE)
target_link_libraries(smelt_blas INTERFACE ${OPENBLAS_LIBRARY})
target_include_directories(smelt_blas INTERFACE $<BUILD_INTERFACE:${OPENBLAS_INCLUDE}>)

# Regular expressions and normal forms of Unicode, for tokenizers.
smelt_find_library(PCRE2_LIBRARY NAMES pcre2-8)
smelt_find_library(UTF8PROC_LIBRARY NAMES utf8proc)
find_path(PCRE2_INCLUDE pcre2.h REQUIRED)
find_path(UTF8PROC_INCLUDE utf8proc.h REQUIRED)
add_library(smelt_text INTERFACE)
target_link_libraries(smelt_text INTERFACE ${PCRE2_LIBRARY} ${UTF8PROC_LIBRARY})
target_include_directories(smelt_text INTERFACE $<BUILD_INTERFACE:${PCRE2_INCLUDE}> $<BUILD_INTERFACE:${UTF8PROC_INCLUDE}>)

# Codecs of data files (frontend/data): gzip, zstd, and the snappy of Parquet.
smelt_find_library(ZLIB_LIBRARY NAMES z)
smelt_find_library(ZSTD_LIBRARY NAMES zstd)
smelt_find_library(SNAPPY_LIBRARY NAMES snappy)
find_path(ZLIB_INCLUDE zlib.h REQUIRED)
find_path(ZSTD_INCLUDE zstd.h REQUIRED)
find_path(SNAPPY_INCLUDE snappy-c.h REQUIRED)
add_library(smelt_codecs INTERFACE)
target_link_libraries(smelt_codecs INTERFACE ${ZLIB_LIBRARY} ${ZSTD_LIBRARY} ${SNAPPY_LIBRARY})
target_include_directories(smelt_codecs INTERFACE $<BUILD_INTERFACE:${ZLIB_INCLUDE}> $<BUILD_INTERFACE:${ZSTD_INCLUDE}>
                                                  $<BUILD_INTERFACE:${SNAPPY_INCLUDE}>)

include(${CMAKE_CURRENT_LIST_DIR}/image_codecs.cmake)

# HTTP, for `smelt serve`: Boost.Asio and Boost.Beast, which are headers alone.
if(SMELT_SERVER)
  find_package(Boost 1.74 REQUIRED)
  find_package(Threads REQUIRED)
endif()

# Headers alone, for ranges in profilers; a build without them has none.
find_path(NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)

find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
if(SMELT_STATIC)
  add_link_options(-static-libstdc++ -static-libgcc)
  set_target_properties(ZLIB::ZLIB PROPERTIES IMPORTED_LOCATION ${ZLIB_LIBRARY})  # LLVM's own needs
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY})
endif()
add_library(smelt_llvm_support INTERFACE)
target_include_directories(smelt_llvm_support SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(smelt_llvm_support INTERFACE ${LLVM_DEFINITIONS_LIST})
add_library(smelt_llvm_codegen INTERFACE)
target_link_libraries(smelt_llvm_codegen INTERFACE smelt_llvm_support)
if(SMELT_STATIC OR NOT SMELT_CPU)
  llvm_map_components_to_libnames(support_libraries support)
  target_link_libraries(smelt_llvm_support INTERFACE ${support_libraries})
  if(SMELT_CPU)
    llvm_map_components_to_libnames(codegen_libraries native passes lto option windowsdriver)  # the last three are lld's
    target_link_libraries(smelt_llvm_codegen INTERFACE ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a
                                                       ${codegen_libraries} smelt_absent_targets)
    # lld begins all targets that LLVM was built with. This machine's alone is linked: the others are nothing.
    foreach(target IN LISTS LLVM_TARGETS_TO_BUILD)
      foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
        if(NOT target STREQUAL LLVM_NATIVE_ARCH)
          string(APPEND absent_targets "void LLVMInitialize${target}${part}(void);\nvoid LLVMInitialize${target}${part}(void) {}\n")
        endif()
      endforeach()
    endforeach()
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/absent_targets.c CONTENT "${absent_targets}" @ONLY)
    add_library(smelt_absent_targets STATIC ${CMAKE_BINARY_DIR}/absent_targets.c)
  endif()
else()
  target_link_libraries(smelt_llvm_support INTERFACE LLVM)
  target_link_libraries(smelt_llvm_codegen INTERFACE ${LLVM_LIBRARY_DIR}/liblldELF.a
                                                     ${LLVM_LIBRARY_DIR}/liblldCommon.a LLVM z zstd)  # lld's own needs
endif()

# libgomp is not built with it: threads of OpenMP would be seen as racing, so that its tests run with OMP_THREAD_LIMIT=1.
if(SMELT_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(SMELT_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
                      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)  # NVTX calls what it has of a pointer of another type
  add_link_options(-fsanitize=address,undefined)
  # Poisoning what leaves its scope, and checks of every access to a member, are more than half of the time to compile.
  # AddressSanitizer finds null pointers and small objects without them.
  if(NOT SMELT_SANITIZE_ALL)
    add_compile_options(-fno-sanitize-address-use-after-scope -fno-sanitize=null,alignment,vptr,object-size)
    # Between the checks that are left GCC 12 sees faults in std::optional and std::string that are not there.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                        $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                        $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
  endif()
endif()
