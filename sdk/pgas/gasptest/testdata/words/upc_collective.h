/* upc_collective.h: the sync modes of the test bed. */
enum {
    UPC_IN_ALLSYNC = 1,
    UPC_IN_MYSYNC = 2,
    UPC_IN_NOSYNC = 4,
    UPC_OUT_ALLSYNC = 8,
    UPC_OUT_MYSYNC = 16,
    UPC_OUT_NOSYNC = 32
};
