# stable-diffusion.cpp takes the ggml that is there: that of llama.cpp, whose headers are in SVC_GGML. Its libraries are linked by build.sh.
# build.sh passes this file as CMAKE_PROJECT_stable-diffusion_INCLUDE.

add_library(ggml INTERFACE IMPORTED)
target_include_directories(ggml SYSTEM INTERFACE "${SVC_GGML}/include")
target_compile_definitions(ggml INTERFACE GGML_SHARED GGML_BACKEND_SHARED)
