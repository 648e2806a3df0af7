void where(const char *what);
#ifdef SHARED_PART
#define MAIN part_main
int MAIN(void);
#else
#define MAIN main
#endif
