import sys
w,l,r,m=float(sys.argv[1]),float(sys.argv[2]),int(sys.argv[3]),sys.argv[4]
print((7.85 if m=="steel" else 0.7)*w*l*(1+0.1*r))
