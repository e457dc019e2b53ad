import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RequestError } from './api/request.ts';
import { router } from './router.tsx';
import './styles.css';
import { ThemeProvider } from './theme/theme.tsx';
import { ZoneProvider } from './time/zone.tsx';
import { ToastProvider } from './ui/toast.tsx';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server refuses it refuses again; one that is away comes back.
      retry: (count, error) =>
        !(error instanceof RequestError) || (error.problem.status === 0 && count < 1_000),
      retryDelay: 2_000,
      staleTime: 500,
      refetchOnWindowFocus: true,
    },
  },
});

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <ThemeProvider>
      <ZoneProvider>
        <QueryClientProvider client={queries}>
          <ToastProvider>
            <RouterProvider router={router} />
          </ToastProvider>
        </QueryClientProvider>
      </ZoneProvider>
    </ThemeProvider>
  </StrictMode>,
);
