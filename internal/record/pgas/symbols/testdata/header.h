static inline __attribute__((always_inline)) void from_header(void) { where("header"); /* header:1 */
    __asm__ volatile("");
}
