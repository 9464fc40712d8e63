# Clang without an OpenMP of its own: GCC's header and library; pragmas are ignored, so that loops run on one thread.
execute_process(COMMAND gcc -print-file-name=include/omp.h OUTPUT_VARIABLE header OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND gcc -print-file-name=libgomp.so OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
file(READ ${header} text)
string(REGEX REPLACE "__malloc__ \\(omp_free\\),? ?" "" text "${text}")  # an attribute that Clang does not know
file(WRITE ${CMAKE_BINARY_DIR}/gomp/omp.h "${text}")
add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
target_include_directories(OpenMP::OpenMP_CXX INTERFACE ${CMAKE_BINARY_DIR}/gomp)
target_compile_options(OpenMP::OpenMP_CXX INTERFACE -Wno-unknown-pragmas)
target_link_libraries(OpenMP::OpenMP_CXX INTERFACE ${library})
